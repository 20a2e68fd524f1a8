// What the CUDA preamble promises: kernels, and what they must compute on whatever runs them, the
// imitated device or a GPU.
//   for (const CudaCheck& check : cuda_checks()) check.compare(GpuRunner(check.kernels));
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "inductor/emit/emit.h"
#include "inductor/ir/scalar_table.h"

namespace inductor::testing {

using Bytes = std::vector<unsigned char>;

class CudaRunner {
 public:
  virtual ~CudaRunner() = default;
  // Buffers in argument order, aligned to 16 bytes; the kernel changes them.
  virtual void run(const EmittedKernel& kernel, std::vector<Bytes>& buffers) const = 0;
};

struct CudaCheck {
  std::string name;  // "operators_f32"
  std::vector<EmittedKernel> kernels;
  std::function<void(const CudaRunner&)> compare;  // by EXPECT
};

// Every scalar operator on a dtype that it is defined on, over pairs of interesting values. Exact
// operators are exact, signs of zeros from max and min aside; functions are within 8 units in the
// last place of libm's (infinity comes after the greatest number), lgamma, which has zeros, within
// 1e-6 (f64: 1e-14) more.
CudaCheck operators_check(DType dtype);
// From a dtype to every other. To itself it is the identity, bit by bit; to another half type by
// way of float, where a NaN stays one of some payload. Float to half types, and back at once, at
// every value, middle and neighbour.
CudaCheck casts_check(DType from);
CudaCheck rounding_check(DType half);
CudaCheck rounded_arithmetic_check(DType half);  // what rounding the float's result gives
CudaCheck functions_check();        // ours: within 2 units in the last place, over all exponents
CudaCheck literals_check();         // of the dialect
CudaCheck index_functions_check();  // floor_div, mod, min, max
CudaCheck overflow_check();         // what NVRTC would fold if it might
CudaCheck memory_check();           // td_load, td_store: every width
CudaCheck across_check(int lanes);  // every thread the same bits
CudaCheck between_check(int lanes, int groups);
std::vector<CudaCheck> cuda_checks();  // all of them

// ---- How they are written ----

// "extern "C" __global__ void NAME(PARAMETERS) { BODY }" on one launch of `blocks` of `threads`.
EmittedKernel cuda_kernel(const std::string& name, const std::string& parameters,
                          const std::string& body, int blocks, int threads);

template <class T>
Bytes to_bytes(std::span<const T> values) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  return Bytes(bytes, bytes + values.size_bytes());
}
template <class T>
std::vector<T> from_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<unsigned char*>(values.data()));
  return values;
}

}  // namespace inductor::testing
