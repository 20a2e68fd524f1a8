#include "inductor/backend/cuda/cubin.h"

#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/inductor/backend/cuda/imitated_driver.h"
#include "tests/inductor/support/scratch_directory.h"

namespace inductor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Cubin : public ::testing::Test {
 protected:
  Cubin() {
    imitated() = {};
    std::ofstream(file_) << "image";
  }
  absl::StatusOr<std::vector<Launcher>> load(std::vector<std::string> kernels) {
    return load_cubin(imitated_driver(), file_, kernels);
  }
  ScratchDirectory folder_;
  const std::string file_ = folder_.path() + "/k.cubin";
};

void run(const Launcher& launcher, const LaunchArguments& arguments, void* stream = nullptr) {
  const TdContext context{nullptr, stream, 0};
  launcher.function(launcher.self, arguments, &context);
}

TEST_F(Cubin, GivesTheDriverTheFileAndOneLauncherAKernel) {
  auto launchers = load({"k2", "k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  EXPECT_EQ(imitated().image, "image");
  run((*launchers)[0], {nullptr, 0, nullptr, 0, 1, 32});
  run((*launchers)[1], {nullptr, 0, nullptr, 0, 1, 32});
  ASSERT_THAT(imitated().launches, SizeIs(2));
  EXPECT_EQ(imitated().launches[0].kernel, "k2");
  EXPECT_EQ(imitated().launches[1].kernel, "k1");
}

TEST_F(Cubin, LaunchesBuffersThenSizesOnTheStream) {
  auto launchers = load({"k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  int a = 0, b = 0, stream = 0;
  void* buffers[] = {&a, &b};
  const int64_t sizes[] = {int64_t{1} << 40};
  imitated().argument_count = 3;
  run(launchers->front(), {buffers, 2, sizes, 1, 4096, 256}, &stream);
  ASSERT_THAT(imitated().launches, SizeIs(1));
  const auto& launch = imitated().launches[0];
  EXPECT_THAT(launch.arguments, ElementsAre(reinterpret_cast<int64_t>(&a),
                                            reinterpret_cast<int64_t>(&b), int64_t{1} << 40));
  EXPECT_EQ(launch.grid, 4096u);
  EXPECT_EQ(launch.block, 256u);
  EXPECT_EQ(launch.shared_bytes, 0u);
  EXPECT_EQ(launch.stream, &stream);
}

TEST_F(Cubin, NoBlocksAreNoLaunch) {
  auto launchers = load({"k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  run(launchers->front(), {nullptr, 0, nullptr, 0, 0, 256});
  EXPECT_THAT(imitated().launches, IsEmpty());
}

std::string what_is_thrown(const Launcher& launcher, const LaunchArguments& arguments) {
  try {
    run(launcher, arguments);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(Cubin, ARefusedLaunchNamesTheKernelAndTheReason) {
  auto launchers = load({"k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  imitated().launch_error = 719;
  EXPECT_THAT(what_is_thrown(launchers->front(), {nullptr, 0, nullptr, 0, 4, 64}),
              AllOf(HasSubstr("k1 on 4 blocks of 64"), HasSubstr("CUDA_ERROR_719")));
}

TEST_F(Cubin, AThreadThatHasNotUsedTheDeviceEntersIt) {
  auto launchers = load({"k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  imitated().launch_error = 201;  // no context
  run(launchers->front(), {nullptr, 0, nullptr, 0, 8, 256});
  EXPECT_EQ(imitated().entered, 0);
  EXPECT_THAT(imitated().launches, SizeIs(2));
}

TEST_F(Cubin, AGridThatIsTooLargeIsRefused) {
  auto launchers = load({"k1"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  EXPECT_THAT(what_is_thrown(launchers->front(), {nullptr, 0, nullptr, 0, int64_t{1} << 32, 64}),
              HasSubstr("2147483647"));
  EXPECT_THAT(imitated().launches, IsEmpty());
}

TEST_F(Cubin, StaysLoadedAsLongAsALauncherLives) {
  auto launchers = load({"k1", "k2"});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  Launcher kept = launchers->front();
  launchers->clear();
  EXPECT_EQ(imitated().unloaded, 0);
  kept = {};
  EXPECT_EQ(imitated().unloaded, 1);
}

TEST_F(Cubin, AKernelThatIsNotInItIsAStatus) {
  EXPECT_THAT(std::string(load({"k1", "k3"}).status().message()), HasSubstr("lacks kernel k3"));
  EXPECT_EQ(imitated().unloaded, 1);
}

TEST_F(Cubin, WhatTheDriverDoesNotLoadIsAStatus) {
  imitated().load_error = 209;
  EXPECT_THAT(std::string(load({"k1"}).status().message()), HasSubstr("CUDA_ERROR_209"));
  EXPECT_EQ(imitated().unloaded, 0);
}

TEST_F(Cubin, AFileThatIsNotThereDoesNotReachTheDriver) {
  std::filesystem::remove(file_);
  EXPECT_FALSE(load({"k1"}).ok());
  EXPECT_EQ(imitated().image, "");
}

}  // namespace
}  // namespace inductor
