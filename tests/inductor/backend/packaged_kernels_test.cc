#include "inductor/backend/packaged_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cuda/cuda_target.h"
#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;

std::string reason(std::string_view target) {
  return std::string(runs_on_this_machine(target, 0).message());
}

TEST(PackagedKernels, AreNotLoadedOnAnotherMachine) {
  EXPECT_EQ(reason("riscv64"), "its kernels are for riscv64, which this machine is not");
  EXPECT_EQ(reason("sm_x"), "its kernels are for sm_x, which this machine is not");
}

TEST(PackagedKernels, OfAGpuNeedItsDriver) {
  if (cuda_driver().ok()) GTEST_SKIP() << "this machine has one";
  EXPECT_THAT(reason("sm_90"), HasSubstr("libcuda"));
}

TEST(PackagedKernels, RunOnTheProcessorThatTheyAreMadeFor) {
  EXPECT_TRUE(runs_here(processor_level()));
  EXPECT_FALSE(runs_here("x86-64-v9"));
}

TEST(PackagedKernels, OfHigherLevelsNeedThatProcessor) {
  EXPECT_TRUE(is_processor_level("x86-64-v4"));
  EXPECT_EQ(runs_here("x86-64-v4"), __builtin_cpu_supports("avx512vl") != 0);
}

TEST(PackagedKernels, OfAGpuRunOnLaterOnesOfTheirKindAndAsPtxOnAllLaterOnes) {
  const CudaTarget cubin = *parse_cuda_target("sm_86"), ptx = *parse_cuda_target("compute_80");
  EXPECT_TRUE(runs_on(cubin, 86) && runs_on(cubin, 89));
  EXPECT_FALSE(runs_on(cubin, 80) || runs_on(cubin, 90));
  EXPECT_TRUE(runs_on(ptx, 80) && runs_on(ptx, 90));
  EXPECT_FALSE(runs_on(ptx, 75));
  EXPECT_FALSE(parse_cuda_target("sm_") || parse_cuda_target("x86-64-v3"));
}

TEST(PackagedKernels, ThatAreDamagedAreTold) {
  EXPECT_THAT(
      std::string(load_packaged_kernels(processor_level(), "no library", {}).status().message()),
      HasSubstr("cannot load a kernel"));
}

}  // namespace
}  // namespace inductor
