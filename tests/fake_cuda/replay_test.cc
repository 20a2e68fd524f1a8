// A compiled graph as one CUDA graph: when it is, and that nobody can tell by the results.
#include "inductor/runtime/aten/replay.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "inductor/runtime/aten/run.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using inductor::CompiledGraph;
using inductor::GraphPool;
using inductor::LaunchArguments;
using inductor::RecordedGraph;
using inductor::ReplayedGraph;
using testing::HasSubstr;

using Work = std::vector<std::function<void()>>;
Work* recording = nullptr;  // what is enqueued goes there
int launches = 0;           // of kernels, by the host

// out = 2 * in, over four floats.
void twice(const void*, const LaunchArguments& arguments, const inductor::TdContext*) {
  ++launches;
  const auto* in = static_cast<const float*>(arguments.buffers[0]);
  auto* out = static_cast<float*>(arguments.buffers[1]);
  const auto work = [=] {
    for (int i = 0; i < 4; ++i) out[i] = 2 * in[i];
  };
  if (recording) return recording->push_back(work);
  work();
}

class FakeGraph final : public RecordedGraph {
 public:
  explicit FakeGraph(Work work) : work_(std::move(work)) {}
  void launch(void*) const override {
    for (const auto& step : work_) step();
  }

 private:
  const Work work_;
};

struct Behaviour {
  bool fails = false;
  bool program_records = false;
  int recorded = 0;
} behaviour;

class FakePool final : public GraphPool {
 public:
  absl::StatusOr<std::unique_ptr<RecordedGraph>> record(
      const std::function<void()>& body) override {
    if (behaviour.fails) return absl::AbortedError("an operator waits for the device");
    ++behaviour.recorded;
    Work work;
    recording = &work;
    body();
    recording = nullptr;
    return std::make_unique<FakeGraph>(std::move(work));
  }
  bool is_recording(void*) const override { return behaviour.program_records; }
};

absl::StatusOr<std::unique_ptr<GraphPool>> fake_pool(c10::Device) {
  return std::make_unique<FakePool>();
}

std::shared_ptr<const CompiledGraph> compiled(const std::string& text) {
  auto plan = inductor::parse_plan(text);
  TD_CHECK(plan.ok(), std::string(plan.status().message()));
  TD_CHECK(verify(*plan).ok(), std::string(verify(*plan).message()));
  auto graph = std::make_shared<CompiledGraph>();
  graph->plan = *std::move(plan);
  for (const inductor::Step& step : graph->plan.steps)
    if (std::holds_alternative<inductor::Launch>(step))
      graph->launchers.push_back({twice, nullptr, nullptr});
  auto linked = link(graph->plan);
  TD_CHECK(linked.ok(), std::string(linked.status().message()));
  graph->linked = *std::move(linked);
  return graph;
}

// 2 x and 4 x; both are returned, since this pool keeps no other memory.
constexpr char kTwice[] =
    "plan 1 f(arg0) -> buf0, buf1 {\n"
    "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n  buf1: f32[4]@cuda:0 owned\n"
    "  arena 0\n  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n  allocate buf1\n"
    "  launch k(buf0, buf1) on 3 blocks of 128\n}\n";

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    behaviour = {};
    launches = 0;
  }

  // Runs it and looks at the results.
  std::vector<Tensor> check(const Tensor& x) {
    std::vector<Tensor> out = graph.run({in_host_memory(x)});
    EXPECT_TRUE(to_cpu(out[0]).equal(2 * x)) << graph.state();
    EXPECT_TRUE(to_cpu(out[1]).equal(4 * x)) << graph.state();
    return out;
  }

  ReplayedGraph graph{compiled(kTwice), fake_pool};
};

TEST_F(Replay, AfterAFewCallsTheHostLaunchesNoKernel) {
  const Tensor x = at::rand({4});
  for (int call = 0; call < 4; ++call) check(x);
  EXPECT_THAT(graph.state(), HasSubstr("2 recordings, 0 inputs copied"));
  const int before = launches;
  for (int call = 0; call < 10; ++call) check(x.add_(1));
  EXPECT_EQ(launches, before);
}

TEST_F(Replay, AnInputThatMovesIsCopied) {
  std::vector<Tensor> inputs;  // all alive, so that each has an address of its own
  for (int call = 0; call < 10; ++call) check(inputs.emplace_back(at::rand({4})));
  EXPECT_THAT(graph.state(), HasSubstr("1 inputs copied"));
  EXPECT_EQ(behaviour.recorded, 2);
}

TEST_F(Replay, AnInputThatMovesLaterIsCopiedFromThenOn) {
  const Tensor x = at::rand({4});
  for (int call = 0; call < 6; ++call) check(x);
  std::vector<Tensor> inputs;
  for (int call = 0; call < 6; ++call) check(inputs.emplace_back(at::rand({4})));
  EXPECT_THAT(graph.state(), HasSubstr("1 inputs copied"));
  const int before = launches;
  check(at::rand({4}));
  EXPECT_EQ(launches, before);
}

TEST_F(Replay, HeldResultsAreNotOverwritten) {
  const Tensor x = at::rand({4});
  std::vector<std::pair<Tensor, Tensor>> held;  // expected, result
  for (int call = 0; call < 12; ++call) {
    x.add_(1);
    held.emplace_back(4 * x, check(x)[1]);
  }
  for (const auto& [expected, result] : held) EXPECT_TRUE(to_cpu(result).equal(expected));
}

TEST_F(Replay, TheResultsOfTheLastCallMayBeHeldAllTheTime) {
  const Tensor x = at::rand({4});
  std::vector<Tensor> last;
  for (int call = 0; call < 5; ++call) last = check(x);
  const int before = launches;
  for (int call = 0; call < 5; ++call) last = check(x.add_(1));
  EXPECT_EQ(launches, before);
}

TEST_F(Replay, AResultOutlivesTheGraph) {
  const Tensor x = at::rand({4});
  Tensor result;
  {
    ReplayedGraph other(compiled(kTwice), fake_pool);
    for (int call = 0; call < 5; ++call) result = other.run({in_host_memory(x)})[1];
  }
  EXPECT_TRUE(to_cpu(result).equal(4 * x));
}

TEST_F(Replay, MemoryGoesBackWithTheGraph) {
  const int64_t before = bytes_in_use();
  {
    ReplayedGraph other(compiled(kTwice), fake_pool);
    const Tensor x = at::rand({4});
    for (int call = 0; call < 5; ++call) other.run({in_host_memory(x)});
    EXPECT_GT(bytes_in_use(), before);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST_F(Replay, AnotherStreamHasARecordingOfItsOwnButNotForEver) {
  const Tensor x = at::rand({4});
  for (int call = 0; call < 5; ++call) check(x);
  for (int round = 0; round < 12; ++round) {
    const c10::StreamGuard guard(c10::Stream(c10::Stream::UNSAFE, kDevice, 1 + round % 2));
    for (int call = 0; call < 5; ++call) check(x.add_(1));
  }
  EXPECT_EQ(graph.state(), "not one CUDA graph: its inputs or its stream keep changing");
}

TEST_F(Replay, WhileTheProgramRecordsCallsRunByLaunches) {
  const Tensor x = at::rand({4});
  behaviour.program_records = true;
  for (int call = 0; call < 6; ++call) check(x);
  EXPECT_EQ(behaviour.recorded, 0);
  behaviour.program_records = false;
  check(x);
  EXPECT_EQ(behaviour.recorded, 2);
  behaviour.program_records = true;
  const int before = launches;
  check(x);
  EXPECT_EQ(launches, before + 2);
}

TEST_F(Replay, WhatCannotBeRecordedRunsByLaunches) {
  behaviour.fails = true;
  const Tensor x = at::rand({4});
  for (int call = 0; call < 6; ++call) check(x);
  EXPECT_EQ(graph.state(), "not one CUDA graph: an operator waits for the device");
}

TEST_F(Replay, AnInputsMemoryThatAnOperatorReturnsIsTheCallers) {
  ReplayedGraph alias(
      compiled("plan 1 f(arg0) -> buf0, buf1 {\n  arg0: f32[4]@cuda:0 input\n"
               "  buf0: f32[4]@cuda:0 owned\n  buf1: f32[4]@cuda:0 extern\n  arena 0\n"
               "  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n"
               "  call buf1 = aten::alias(self=arg0)\n}\n"),
      fake_pool);
  const Tensor x = at::rand({4});
  for (int call = 0; call < 6; ++call) {
    const Tensor given = in_host_memory(x);
    EXPECT_TRUE(alias.run({given})[1].is_alias_of(given));
  }
  EXPECT_EQ(alias.state(), "not one CUDA graph: a result is an input's memory");
}

TEST_F(Replay, WithoutMemoryForCopiesCallsRunByLaunches) {
  std::vector<Tensor> inputs;
  for (int call = 0; call < 3; ++call) check(inputs.emplace_back(at::rand({4})));
  fail_next_allocation();  // of the copy of the input that moves
  for (int call = 0; call < 3; ++call) check(inputs.emplace_back(at::rand({4})));
  EXPECT_THAT(graph.state(), HasSubstr("not one CUDA graph: CUDA out of memory"));
}

TEST_F(Replay, OneLaunchIsNoGraph) {
  const ReplayedGraph one(
      compiled(
          "plan 1 f(arg0) -> buf0 {\n  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n"
          "  arena 0\n  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n}\n"),
      fake_pool);
  EXPECT_EQ(one.state(), "not one CUDA graph: it is one launch");
}

TEST_F(Replay, AnInputThatIsReturnedIsTheCallers) {
  std::string text = kTwice;
  text.replace(text.find("buf0, buf1"), 10, "buf1, arg0");
  const ReplayedGraph returned(compiled(text), fake_pool);
  EXPECT_EQ(returned.state(), "not one CUDA graph: an input is returned");
}

}  // namespace
}  // namespace fake_cuda
