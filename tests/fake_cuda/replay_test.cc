// A compiled graph as one CUDA graph: when it is, and that nobody can tell by the results.
#include "inductor/runtime/aten/replay.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/recorder.h"

namespace fake_cuda {
namespace {

using inductor::ReplayedGraph;
using testing::HasSubstr;

// 2 x and 4 x.
constexpr char kTwice[] =
    "plan 1 f(arg0) -> buf0, buf1 {\n"
    "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n  buf1: f32[4]@cuda:0 owned\n"
    "  arena 0\n  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n  allocate buf1\n"
    "  launch k(buf0, buf1) on 3 blocks of 128\n}\n";

class Replay : public testing::Test {
 protected:
  void SetUp() override { recorder() = {}; }

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
  const int before = recorder().launches;
  for (int call = 0; call < 10; ++call) check(x.add_(1));
  EXPECT_EQ(recorder().launches, before);
}

TEST_F(Replay, AnInputThatMovesIsCopied) {
  std::vector<Tensor> inputs;  // all alive, so that each has an address of its own
  for (int call = 0; call < 10; ++call) check(inputs.emplace_back(at::rand({4})));
  EXPECT_THAT(graph.state(), HasSubstr("1 inputs copied"));
  EXPECT_EQ(recorder().recorded, 2);
}

// As what the graph before this one makes, until that is recorded: too much to copy.
TEST_F(Replay, ALargeInputIsReadInPlaceOnceItStays) {
  std::string text = kTwice;
  text.replace(text.find("arg0: f32[4]"), 12, "arg0: f32[1048576]");
  ReplayedGraph large{compiled(text), fake_pool};
  const auto check_large = [&](const Tensor& x) {
    const std::vector<Tensor> out = large.run({in_host_memory(x)});
    EXPECT_TRUE(to_cpu(out[0]).equal(2 * x.narrow(0, 0, 4))) << large.state();
  };
  std::vector<Tensor> moving;  // all alive, so that each has an address of its own
  for (int call = 0; call < 5; ++call) check_large(moving.emplace_back(at::rand({1 << 20})));
  EXPECT_EQ(large.state(), "not yet one CUDA graph");
  for (int call = 0; call < 5; ++call) check_large(moving.back());
  EXPECT_THAT(large.state(), HasSubstr("2 recordings, 0 inputs copied"));
}

TEST_F(Replay, ALargeInputThatKeepsMovingIsGivenUp) {
  std::string text = kTwice;
  text.replace(text.find("arg0: f32[4]"), 12, "arg0: f32[1048576]");
  ReplayedGraph large{compiled(text), fake_pool};
  std::vector<Tensor> moving;
  for (int call = 0; call < 20; ++call)
    large.run({in_host_memory(moving.emplace_back(at::zeros({1 << 20})))});
  EXPECT_EQ(large.state(), "not one CUDA graph: inputs of 4194304 bytes move");
}

TEST_F(Replay, AnInputThatMovesLaterIsCopiedFromThenOn) {
  const Tensor x = at::rand({4});
  for (int call = 0; call < 6; ++call) check(x);
  std::vector<Tensor> inputs;
  for (int call = 0; call < 6; ++call) check(inputs.emplace_back(at::rand({4})));
  EXPECT_THAT(graph.state(), HasSubstr("1 inputs copied"));
  const int before = recorder().launches;
  check(at::rand({4}));
  EXPECT_EQ(recorder().launches, before);
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
  const int before = recorder().launches;
  for (int call = 0; call < 5; ++call) last = check(x.add_(1));
  EXPECT_EQ(recorder().launches, before);
}

// A chain whose temporaries and result take turns in memory.
TEST_F(Replay, NoCallPutsItsTemporariesIntoTheResultsOfAnother) {
  ReplayedGraph chain(
      compiled("plan 1 f(arg0) -> buf2 {\n"
               "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n"
               "  buf1: f32[4]@cuda:0 owned\n  buf2: f32[4]@cuda:0 owned\n  arena 0\n"
               "  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n"
               "  allocate buf1\n  launch k(buf0, buf1) on 3 blocks of 128\n  release buf0\n"
               "  allocate buf2\n  launch k(buf1, buf2) on 3 blocks of 128\n  release buf1\n}\n"),
      fake_pool);
  const Tensor x = at::rand({4});
  Tensor last = chain.run({in_host_memory(x)})[0];
  for (int call = 0; call < 10; ++call) {
    const Tensor expected = 8 * x;
    const Tensor next = chain.run({in_host_memory(x.add_(1))})[0];
    EXPECT_TRUE(to_cpu(last).equal(expected)) << call << " " << chain.state();
    last = next;
  }
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
  recorder().program_records = true;
  for (int call = 0; call < 6; ++call) check(x);
  EXPECT_EQ(recorder().recorded, 0);
  recorder().program_records = false;
  check(x);
  EXPECT_EQ(recorder().recorded, 2);
  recorder().program_records = true;
  const int before = recorder().launches;
  check(x);
  EXPECT_EQ(recorder().launches, before + 2);
}

TEST_F(Replay, WhatCannotBeRecordedRunsByLaunches) {
  recorder().fails = true;
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
