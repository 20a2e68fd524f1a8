#include "inductor/backend/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/inductor/backend/cuda/imitated_driver.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;

TEST(CudaDriver, WithoutADriverTheStatusSaysWhatIsMissing) {
  const absl::Status status = load_cuda_driver("libno-such-driver.so.1").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("NVIDIA's driver"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("libno-such-driver.so.1"));
}

TEST(CudaDriver, ADriverThatLacksAFunctionIsTooOld) {
  const absl::Status status = load_cuda_driver("libm.so.6").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("older than CUDA 12.0: it lacks cuInit"));
}

TEST(CudaDriver, TellsADevicesCapability) {
  EXPECT_EQ(imitated_driver().compute_capability(0).value_or(0), 86);
}

// Four processors of 1536 threads.
TEST(CudaDriver, TellsHowManyThreadsADeviceRunsAtOnce) {
  EXPECT_EQ(imitated_driver().most_threads(0, 256).value_or(0), 4 * 1536);
  EXPECT_EQ(imitated_driver().most_threads(0, 1024).value_or(0), 4 * 1024);
  EXPECT_FALSE(imitated_driver().most_threads(7, 256).ok());
}

TEST(CudaDriver, ADeviceThatDoesNotExistIsAStatus) {
  const absl::Status status = imitated_driver().compute_capability(7).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("CUDA device 7: CUDA_ERROR_101 (imitated error)"));
}

TEST(CudaDriver, AnErrorThatTheDriverDoesNotKnowIsTold) {
  EXPECT_EQ(imitated_driver().error_text(-1), "CUDA error -1 (unknown to this driver)");
}

}  // namespace
}  // namespace inductor
