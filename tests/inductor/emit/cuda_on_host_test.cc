// The imitated device: runs kernels as a GPU would, and finds what a GPU would not forgive.
#include "tests/inductor/support/cuda_on_host.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"

namespace inductor::testing {
namespace {

struct Written {
  const char* name;
  int blocks, threads;
  const char* parameters;
  const char* body;
};
constexpr Written kKernels[] = {
    {"where", 3, 64, "int* out0, int64_t s0",
     "out0[td_block() * 64 + td_thread()] = 100 * td_block() + td_thread() + int(s0);"},
    // Each thread takes the value of the next one.
    {"rotate", 1, 128, "int* out0",
     "__shared__ int at[128]; at[td_thread()] = td_thread(); td_sync_block();"
     "out0[td_thread()] = at[(td_thread() + 1) % 128];"},
    {"rotate_with_warp_barrier", 1, 128, "int* out0",
     "__shared__ int at[128]; at[td_thread()] = td_thread(); td_sync_lanes<32>();"
     "out0[td_thread()] = at[(td_thread() + 1) % 128];"},
    {"rotate_without_barrier", 1, 128, "int* out0",
     "__shared__ int at[128]; at[td_thread()] = td_thread();"
     "out0[td_thread()] = at[(td_thread() + 1) % 128];"},
    {"stale", 2, 32, "int* out0",
     "__shared__ int kept[32]; out0[32 * td_block() + td_thread()] = kept[td_thread()];"
     "kept[td_thread()] = 7;"},
    {"early", 1, 64, "int* out0", "if (td_thread() > 40) return; td_sync_block();"},
    // Each thread has its own way; halves of a warp meet.
    {"halves_of_a_warp", 1, 32, "int* out0",
     "int sum = td_thread();"
     "for (int n = 0; n < td_thread() / 16 + 1; ++n) sum = td_across_sum<16>(sum);"
     "out0[td_thread()] = sum;"},
    {"half_a_warp", 1, 32, "int* out0", "if (td_thread() < 16) td_sync_lanes<32>();"},
    {"two_barriers", 1, 32, "int* out0",
     "if (td_thread() < 16) td_sync_lanes<32>(); else td_sync_block();"},
    {"shifted", 1, 32, "int* out0", "td_store(out0 + 1, td_load<4>(out0 + 4));"},
    {"two_parameters", 1, 32, "int* out0, int64_t s0", ""},
};

class CudaOnHostTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const Written& k : kKernels)
      kernels_.push_back({k.name,
                          aten_bridge::str_cat("extern \"C\" __global__ void ", k.name, "(",
                                               k.parameters, ") { ", k.body, " }\n"),
                          {},
                          {},
                          {k.blocks, k.threads}});
    cuda_ = new CudaOnHost(kernels_);
  }
  static void TearDownTestSuite() { delete cuda_; }

  static std::vector<int> run(const std::string& name, std::vector<int64_t> sizes,
                              ThreadOrder order) {
    std::vector<int> out(192);
    const auto named = [&](const EmittedKernel& k) { return k.name == name; };
    cuda_->run(*std::find_if(kernels_.begin(), kernels_.end(), named),
               std::vector<void*>{out.data()}, sizes, order);
    return out;
  }

  // Twice, since the first time must not spoil the second.
  static void expect_mistake(const std::string& name, const std::string& message) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      try {
        run(name, {}, ThreadOrder::kForward);
        ADD_FAILURE() << "not found: " << message;
      } catch (const aten_bridge::InternalError& e) {
        EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
      }
    }
    EXPECT_EQ(run("rotate", {}, ThreadOrder::kForward)[5], 6);
  }

  inline static std::vector<EmittedKernel> kernels_;
  inline static CudaOnHost* cuda_ = nullptr;
};

constexpr ThreadOrder kBoth[] = {ThreadOrder::kForward, ThreadOrder::kBackward};

TEST_F(CudaOnHostTest, RunsEveryThreadOfEveryBlock) {
  for (ThreadOrder order : kBoth) {
    const std::vector<int> out = run("where", {1000}, order);
    for (int i = 0; i < 192; ++i) ASSERT_EQ(out[i], 1000 + 100 * (i / 64) + i % 64);
  }
}

TEST_F(CudaOnHostTest, ShowsAMissingBarrier) {
  std::vector<int> expected(192);
  for (int i = 0; i < 128; ++i) expected[i] = (i + 1) % 128;
  for (ThreadOrder order : kBoth) {
    EXPECT_EQ(run("rotate", {}, order), expected);
    EXPECT_NE(run("rotate_with_warp_barrier", {}, order), expected);
    EXPECT_NE(run("rotate_without_barrier", {}, order), expected);
  }
}

TEST_F(CudaOnHostTest, LetsPartsOfAWarpMeet) {
  for (ThreadOrder order : kBoth) {
    const std::vector<int> out = run("halves_of_a_warp", {}, order);
    for (int i = 0; i < 32; ++i) ASSERT_EQ(out[i], i < 16 ? 120 : 16 * 376);
  }
}

TEST_F(CudaOnHostTest, FindsWhatADeviceLeavesUndefined) {
  expect_mistake("early", "wait for others");
  expect_mistake("half_a_warp", "wait for others");
  expect_mistake("two_barriers", "wait for others");
  expect_mistake("shifted", "not aligned");
  expect_mistake("two_parameters", "number of parameters");
}

TEST_F(CudaOnHostTest, ForgetsSharedMemoryBetweenBlocks) {
  const std::vector<int> out = run("stale", {}, ThreadOrder::kForward);
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 64), std::vector<int>(64, -1));
}

}  // namespace
}  // namespace inductor::testing
