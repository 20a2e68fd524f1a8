#include "tests/inductor/support/cuda_on_host.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/preamble/embedded.h"
#include "tests/inductor/support/array_memory.h"
#include "tests/inductor/support/shared_object.h"

namespace inductor::testing {

using aten_bridge::str_append;
using aten_bridge::str_cat;

CudaOnHost::CudaOnHost(const std::vector<EmittedKernel>& kernels) {
  std::string text =
      str_cat("#include \"tests/inductor/support/td_cuda_on_host.h\"\n", td_cuda_cuh(),
              td_cuda_convert_cuh(), td_cuda_math_cuh(), td_cuda_groups_cuh(), td_special_h(),
              td_bessel_h(), td_polynomials_h(), td_random_h(), td_cuda_random_cuh());
  std::set<std::string> names;
  for (const EmittedKernel& kernel : kernels) {
    if (!names.insert(kernel.name).second) continue;
    str_append(&text, "\n", kernel.text, "\nextern \"C\" const char* run_", kernel.name,
               "(void* const* arguments, int count, int64_t blocks, int threads, bool backward) {\n"
               "  return td_host::launch<",
               kernel.name, ">(arguments, count, blocks, threads, backward);\n}\n");
  }
  library_ = compile_shared_object(
      text, "-O1 -fno-strict-aliasing -U_FORTIFY_SOURCE -I" TORCHDYN_SOURCE_DIR);
}

void CudaOnHost::run(const EmittedKernel& kernel, std::span<void* const> buffers,
                     std::span<const int64_t> sizes, ThreadOrder order) const {
  std::vector<const void*> arguments;
  const size_t addresses = buffers.size() - kernel.values.size();
  for (const auto& buffer : buffers.first(addresses)) arguments.push_back(&buffer);
  for (const int64_t& size : sizes) arguments.push_back(&size);
  for (const auto& buffer : buffers.subspan(addresses)) arguments.push_back(buffer);
  const int64_t blocks = kernel.shape.blocks.evaluate([&](aten_bridge::Symbol s) {
    const auto at = std::find(kernel.sizes.begin(), kernel.sizes.end(), SymExpr::symbol(s));
    TD_CHECK(at != kernel.sizes.end(), "the number of blocks depends on a size that is not passed");
    return sizes[static_cast<size_t>(at - kernel.sizes.begin())];
  });
  using Run = const char* (*)(const void* const*, int, int64_t, int, bool);
  const char* error = reinterpret_cast<Run>(function(library_, "run_" + kernel.name))(
      arguments.data(), static_cast<int>(arguments.size()), blocks, kernel.shape.threads,
      order == ThreadOrder::kBackward);
  TD_CHECK(!error, error ? error : "", "\n", aten_bridge::to_absl(kernel.text));
}

void HostRunner::run(const EmittedKernel& kernel, std::vector<Bytes>& buffers) const {
  std::vector<Bytes> results[2];
  for (ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward}) {
    std::vector<GuardedMemory> memory;
    std::vector<void*> pointers;
    for (const Bytes& bytes : buffers) {
      memory.emplace_back(bytes);
      pointers.push_back(memory.back().data());
    }
    cuda_.run(kernel, pointers, {}, order);
    for (size_t b = 0; b < buffers.size(); ++b) {
      memory[b].check();
      results[static_cast<int>(order)].emplace_back(memory[b].data(),
                                                    memory[b].data() + buffers[b].size());
    }
  }
  EXPECT_TRUE(results[0] == results[1])
      << "the order of threads changes what " << kernel.name << " computes";
  buffers = results[0];
}

}  // namespace inductor::testing
