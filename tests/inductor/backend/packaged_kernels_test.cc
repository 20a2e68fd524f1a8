#include "inductor/backend/packaged_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cuda/driver.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;

std::string reason(std::string_view target) {
  return std::string(load_packaged_kernels(target, 0, "", {}).status().message());
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

TEST(PackagedKernels, ThatAreDamagedAreTold) {
  EXPECT_THAT(
      std::string(load_packaged_kernels(processor_level(), 0, "no library", {}).status().message()),
      HasSubstr("cannot load a kernel"));
}

}  // namespace
}  // namespace inductor
