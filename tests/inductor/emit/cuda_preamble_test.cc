// The preamble of CUDA kernels on an imitated device, and through NVRTC; preamble_cuda_test.cc runs
// the same checks on a GPU.
#include <gtest/gtest.h>

#include "tests/inductor/support/cuda_checks.h"
#include "tests/inductor/support/cuda_compiler.h"
#include "tests/inductor/support/cuda_on_host.h"

namespace inductor::testing {
namespace {

std::vector<EmittedKernel> kernels_of(const std::vector<CudaCheck>& checks) {
  std::vector<EmittedKernel> kernels;
  for (const CudaCheck& check : checks)
    kernels.insert(kernels.end(), check.kernels.begin(), check.kernels.end());
  return kernels;
}

// Every operator on every dtype, every cast and every function of groups is in some kernel.
void compile_everything(int capability) {
  std::string text = cuda_preamble();
  for (const EmittedKernel& kernel : kernels_of(cuda_checks())) text += "\n" + kernel.text;
  const CompiledCuda compiled = compile_cuda(text, capability);
  EXPECT_TRUE(compiled.status.ok()) << compiled.status << compiled.log;
  EXPECT_EQ(compiled.log, "");
}

TEST(CudaPreamble, IsWhatNvrtcCompilesForSm75) {
  NEEDS_NVRTC();
  compile_everything(75);
}

TEST(CudaPreamble, IsWhatNvrtcCompilesForSm80) {
  NEEDS_NVRTC();
  compile_everything(80);
}

TEST(CudaPreamble, IsWhatNvrtcCompilesForSm90) {
  NEEDS_NVRTC();
  compile_everything(90);
}

TEST(CudaPreamble, HoldsOnAnImitatedDevice) {
  const std::vector<CudaCheck> checks = cuda_checks();
  const HostRunner runner(kernels_of(checks));
  for (const CudaCheck& check : checks) {
    SCOPED_TRACE(check.name);
    check.compare(runner);
  }
}

}  // namespace
}  // namespace inductor::testing
