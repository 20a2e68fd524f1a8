// The preamble of CUDA kernels on a GPU: the checks that cuda_preamble_test.cc runs without one.
#include <gtest/gtest.h>

#include "tests/inductor/support/cuda_checks.h"
#include "tests/inductor/support/gpu_runner.h"

namespace inductor::testing {
namespace {

class CudaPreambleOnGpu : public ::testing::TestWithParam<CudaCheck> {
 protected:
  static void SetUpTestSuite() {
    std::vector<EmittedKernel> kernels;
    for (const CudaCheck& check : cuda_checks())
      kernels.insert(kernels.end(), check.kernels.begin(), check.kernels.end());
    gpu_ = std::make_unique<GpuRunner>(kernels);
  }
  static void TearDownTestSuite() { gpu_.reset(); }

  inline static std::unique_ptr<GpuRunner> gpu_;
};

TEST_P(CudaPreambleOnGpu, Holds) { GetParam().compare(*gpu_); }

INSTANTIATE_TEST_SUITE_P(Each, CudaPreambleOnGpu, ::testing::ValuesIn(cuda_checks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace inductor::testing
