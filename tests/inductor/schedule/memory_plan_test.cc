#include "inductor/schedule/memory_plan.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inductor {
namespace {

using ::testing::HasSubstr;

// The most bytes that are alive in one step.
int64_t most_alive(const std::vector<Interval>& intervals, int64_t alignment) {
  int64_t most = 0;
  for (const Interval& at : intervals) {
    int64_t alive = 0;
    for (const Interval& i : intervals)
      if (i.first <= at.first && at.first <= i.last)
        alive += (i.bytes + alignment - 1) / alignment * alignment;
    most = std::max(most, alive);
  }
  return most;
}

TEST(PlaceIntervals, NeverLetsLiveOnesOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals(1 + random() % 60);
    for (Interval& i : intervals) {
      i.bytes = static_cast<int64_t>(random() % 5000);
      i.first = static_cast<int>(random() % 40);
      i.last = i.first + static_cast<int>(random() % 10);
    }
    const Arena arena = place(intervals, 64);
    for (size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_EQ(arena.offsets[a] % 64, 0);
      EXPECT_LE(arena.offsets[a] + intervals[a].bytes, arena.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool alive =
            intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last;
        const bool apart = arena.offsets[a] + intervals[a].bytes <= arena.offsets[b] ||
                           arena.offsets[b] + intervals[b].bytes <= arena.offsets[a];
        EXPECT_TRUE(!alive || apart) << "round " << round;
      }
    }
  }
}

TEST(PlaceIntervals, GivesTheSamePlacesEveryTime) {
  const std::vector<Interval> intervals = {{100, 0, 3}, {100, 1, 2}, {200, 2, 5}, {100, 4, 6}};
  EXPECT_EQ(place(intervals, 64).offsets, place(intervals, 64).offsets);
}

TEST(PlaceIntervals, StaysWithinATenthOfWhatIsAliveInATransformer) {
  // Per layer: residual stream, normalised, projections, attention, hidden of the feed-forward;
  // sizes in 1/256 of a row.
  std::vector<Interval> intervals;
  int step = 0;
  for (int layer = 0; layer < 4; ++layer) {
    for (auto [width, first, last] : {std::tuple{256, 0, 8},
                                      {256, 0, 1},
                                      {768, 1, 3},
                                      {64, 2, 3},
                                      {256, 3, 4},
                                      {256, 4, 8},
                                      {256, 5, 6},
                                      {1024, 6, 7},
                                      {1024, 7, 8},
                                      {1, 0, 1},
                                      {1, 5, 6}})
      intervals.push_back({width * 1024L, step + first, step + last});
    step += 8;
  }
  EXPECT_LE(place(intervals, 64).bytes, most_alive(intervals, 64) * 11 / 10);
}

// arg0 -> k0 -> t0 -> k1 -> t1 -> k2 -> out
class PlanMemory : public ::testing::Test {
 protected:
  int buffer(const std::string& name, int64_t size, BufferRole role) {
    TensorType type;
    type.sizes = {size};
    type.strides = {1};
    program_.buffers.push_back({name, type, role});
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  void kernel(const std::string& name, std::vector<int> buffers, LaunchShape shape = {}) {
    program_.body.emplace_back(Kernel{name, {}, {}});
    kernels_.push_back({name, "", std::move(buffers), {}, shape});
  }
  TensorRef all(int b) {
    return {b, program_.buffers[b].type.sizes, program_.buffers[b].type.strides, 0};
  }
  std::string plan(MemoryOptions options = {}) {
    const KernelPlan plan = plan_memory(program_, kernels_, options);
    EXPECT_TRUE(verify(plan).ok()) << verify(plan) << print(plan);
    return print(plan);
  }
  LoopProgram program_;
  std::vector<EmittedKernel> kernels_;
};

TEST_F(PlanMemory, KeepsTheShapeOfALaunch) {
  program_.inputs = {buffer("arg0", 16, BufferRole::kInput)};
  const int out = buffer("out", 16, BufferRole::kOutput);
  program_.outputs = {all(out)};
  kernel("k0", {0, out}, {2, 128});
  EXPECT_THAT(plan(), ::testing::HasSubstr("launch k0(arg0, out) on 2 blocks of 128\n"));
}

TEST_F(PlanMemory, ReusesTheArenaAndReleasesAtTheLastUse) {
  program_.name = "chain";
  const int in = buffer("arg0", 16, BufferRole::kInput);
  const int local = buffer("row", 16, BufferRole::kLocal);
  const int t0 = buffer("t0", 16, BufferRole::kTemporary);
  const int t1 = buffer("t1", 16, BufferRole::kTemporary);
  const int t2 = buffer("t2", 16, BufferRole::kTemporary);
  const int out = buffer("out", 16, BufferRole::kOutput);
  (void)local;
  program_.inputs = {in};
  program_.outputs = {all(out)};
  kernel("k0", {in, t0});
  kernel("k1", {t0, t1});
  kernel("k2", {t1, t2});
  kernel("k3", {t2, out});
  EXPECT_EQ(plan(), R"(plan 1 chain(arg0) -> out {
  arg0: f32[16] input
  t0: f32[16] arena 0
  t1: f32[16] arena 64
  t2: f32[16] arena 0
  out: f32[16] owned
  arena 128
  launch k0(arg0, t0)
  release arg0
  launch k1(t0, t1)
  launch k2(t1, t2)
  allocate out
  launch k3(t2, out)
}
)");
}

TEST_F(PlanMemory, LargeTemporariesOwnTheirMemoryOnlyWhileTheyLive) {
  const int in = buffer("arg0", 16, BufferRole::kInput);
  const int t0 = buffer("t0", 1000, BufferRole::kTemporary);
  const int out = buffer("out", 16, BufferRole::kOutput);
  program_.name = "large";
  program_.inputs = {in};
  program_.outputs = {all(out)};
  kernel("k0", {in, t0});
  kernel("k1", {t0, out});
  MemoryOptions options;
  options.own_bytes = 4000;
  EXPECT_THAT(plan(options), HasSubstr(R"(  allocate t0
  launch k0(arg0, t0)
  release arg0
  allocate out
  launch k1(t0, out)
  release t0
)"));
}

TEST_F(PlanMemory, ExternResultsAreReleasedEvenWhereNobodyReadsThem) {
  const int in = buffer("arg0", 16, BufferRole::kInput);
  const int used = buffer("used", 16, BufferRole::kOutput);
  const int unused = buffer("unused", 16, BufferRole::kTemporary);
  program_.name = "pair";
  program_.inputs = {in};
  program_.outputs = {all(used), std::nullopt};
  program_.body.emplace_back(ExternCall{"aten::pair", {{"self", all(in)}}, {used, unused}});
  EXPECT_THAT(plan(), HasSubstr(R"(  call used, unused = aten::pair(self=arg0)
  release arg0
  release unused
)"));
}

TEST_F(PlanMemory, AnInputThatNobodyReadsIsReleasedFirst) {
  const int in = buffer("arg0", 16, BufferRole::kInput);
  program_.name = "unread";
  program_.inputs = {in};
  EXPECT_THAT(plan(), HasSubstr("arena 0\n  release arg0\n}"));
}

TEST_F(PlanMemory, AReturnedInputIsKept) {
  const int in = buffer("arg0", 16, BufferRole::kInput);
  program_.name = "same";
  program_.inputs = {in};
  program_.outputs = {all(in)};
  EXPECT_THAT(plan(), ::testing::Not(HasSubstr("release")));
}

}  // namespace
}  // namespace inductor
