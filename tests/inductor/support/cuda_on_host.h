// CUDA kernels without a GPU: compiled by the host compiler, a block's threads as fibers.
//   CudaOnHost cuda({softmax, gelu});                            // one shared object
//   cuda.run(softmax, {in.data(), out.data()}, {}, ThreadOrder::kForward);
// Deterministic; what no order of the threads may change is worth running in both. A block of 256
// threads that meet 14 times takes a quarter of a millisecond. See td_cuda_on_host.h for the
// mistakes that it finds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inductor/emit/emit.h"
#include "tests/inductor/support/cuda_checks.h"

namespace inductor::testing {

enum class ThreadOrder { kForward, kBackward };

class CudaOnHost {
 public:
  explicit CudaOnHost(const std::vector<EmittedKernel>& kernels);

  // On as many blocks and threads as the kernel's shape says. Buffers, those passed by their
  // contents last, and the sizes' values are in argument order. Checked: no mistake is found.
  void run(const EmittedKernel& kernel, std::span<void* const> buffers,
           std::span<const int64_t> sizes, ThreadOrder order) const;

 private:
  std::shared_ptr<void> library_;
};

// Runs the checks' kernels in both orders and expects the same of both.
class HostRunner : public CudaRunner {
 public:
  explicit HostRunner(const std::vector<EmittedKernel>& kernels) : cuda_(kernels) {}
  void run(const EmittedKernel& kernel, std::vector<Bytes>& buffers) const override;

 private:
  CudaOnHost cuda_;
};

}  // namespace inductor::testing
