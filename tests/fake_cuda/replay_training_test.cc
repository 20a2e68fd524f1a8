// A forward and its backward as CUDA graphs: when they are, and that nobody can tell by what they
// return.
#include "inductor/runtime/aten/replay_training.h"

#include <random>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/recorder.h"

namespace fake_cuda {
namespace {

using inductor::ReplayedTraining;
using testing::HasSubstr;

// s = 2 (x + w) is saved, and 2 s returned.
constexpr char kForward[] =
    "plan 1 forward(arg0, arg1) -> buf1, buf0 {\n"
    "  arg0: f32[4]@cuda:0 input\n  arg1: f32[4]@cuda:0 input\n"
    "  buf0: f32[4]@cuda:0 owned\n  buf1: f32[4]@cuda:0 owned\n  arena 0\n"
    "  allocate buf0\n  launch k(arg0, arg1, buf0) on 3 blocks of 128\n"
    "  allocate buf1\n  launch k(buf0, buf1) on 3 blocks of 128\n}\n";
// Of w, s and a tangent t: u = 2 (s + t), 2 u, 2 (2 u + t + w). What is made after s is let go may
// lie where s lay, and the last where u lay.
constexpr char kBackward[] =
    "plan 1 backward(arg0, arg1, arg2) -> buf1, buf2 {\n"
    "  arg0: f32[4]@cuda:0 input\n  arg1: f32[4]@cuda:0 input\n  arg2: f32[4]@cuda:0 input\n"
    "  buf0: f32[4]@cuda:0 owned\n  buf1: f32[4]@cuda:0 owned\n  buf2: f32[4]@cuda:0 owned\n"
    "  arena 0\n  allocate buf0\n  launch k(arg1, arg2, buf0) on 3 blocks of 128\n"
    "  release arg1\n  allocate buf1\n  launch k(buf0, buf1) on 3 blocks of 128\n"
    "  release buf0\n  allocate buf2\n  launch k(buf1, arg2, arg0, buf2) on 3 blocks of 128\n"
    "  release arg0\n  release arg2\n}\n";

// A forward that happened: what it must have returned, and what it did.
struct Happened {
  Tensor x, w;  // their values then
  Tensor result, saved;

  void check_result(const std::string& state) const {
    EXPECT_TRUE(to_cpu(result).equal(4 * (x + w))) << state;
  }
};

struct Gradients {
  Tensor u, t, w;
  std::vector<Tensor> all;

  void check(const std::string& state) const {
    EXPECT_TRUE(to_cpu(all[0]).equal(2 * u)) << state;
    EXPECT_TRUE(to_cpu(all[1]).equal(2 * (2 * u + t + w))) << state;
  }
};

class ReplayTraining : public testing::Test {
 protected:
  void SetUp() override { recorder() = {}; }

  // Small integers, so that sums are exact.
  static Tensor numbers() { return at::randint(0, 100, {4}).to(at::kFloat); }

  Happened forward(const Tensor& x) {
    std::vector<Tensor> out = pair.forward({in_host_memory(x), in_host_memory(w)});
    const Happened happened{x.clone(), w.clone(), out[0], out[1]};
    happened.check_result(pair.state());
    return happened;
  }

  // `keep`: the saved value is somebody else's too.
  Gradients backward(Happened& of, bool keep = false) {
    const Tensor t = numbers();
    std::vector<Tensor> inputs{in_host_memory(w), of.saved, in_host_memory(t)};
    if (!keep) of.saved.reset();
    const Gradients gradients{2 * (2 * (of.x + of.w) + t), t, w.clone(),
                              pair.backward(std::move(inputs))};
    gradients.check(pair.state());
    return gradients;
  }

  void step() {
    w.add_(1);  // an optimizer's
    Happened happened = forward(x);
    backward(happened);
  }

  int launches_of_a_step() {
    const int before = recorder().launches;
    step();
    return recorder().launches - before;
  }

  Tensor x = numbers(), w = numbers();
  ReplayedTraining pair{compiled(kForward), compiled(kBackward), /*results=*/1, fake_pool};
};

TEST_F(ReplayTraining, AfterAFewStepsTheHostLaunchesNoKernel) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launches_of_a_step(), 5);
  step();
  EXPECT_EQ(pair.state(),
            "forward and backward replayed as CUDA graphs; 0 and 1 inputs copied, 0 results "
            "copied");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(launches_of_a_step(), 0);
  EXPECT_EQ(recorder().recorded, 2);
}

TEST_F(ReplayTraining, AResultThatIsHeldUntilTheNextCallIsACopy) {
  Tensor last;
  for (int i = 0; i < 10; ++i) {
    const int before = recorder().launches;
    Happened happened = forward(x);
    last = happened.result;
    backward(happened);
    if (i > 3) {
      EXPECT_EQ(recorder().launches, before);
    }
  }
  EXPECT_THAT(pair.state(), HasSubstr("1 results copied"));
}

TEST_F(ReplayTraining, GradientsThatAreHeldAreNotOverwritten) {
  std::vector<Gradients> held;
  for (int i = 0; i < 20; ++i) {
    Happened happened = forward(x.add_(1));
    Gradients gradients = backward(happened);
    if (i >= 5) held.push_back(gradients);
  }
  for (const Gradients& g : held) g.check(pair.state());
}

TEST_F(ReplayTraining, ResultsThatAreHeldAreNotOverwritten) {
  std::vector<Happened> held;
  for (int i = 0; i < 20; ++i) {
    Happened happened = forward(x.add_(1));
    backward(happened);
    if (i >= 5) held.push_back(happened);
  }
  for (const Happened& h : held) h.check_result(pair.state());
}

// As `.grad` does that is zeroed after a forward, or gathers the gradients of several.
TEST_F(ReplayTraining, GradientsThatEveryForwardFindsLieApart) {
  Gradients last;
  for (int i = 0; i < 10; ++i) {
    const int before = recorder().launches;
    Happened happened = forward(x.add_(1));
    if (i > 0) last.check(pair.state());
    last = backward(happened);
    if (i > 4) {
      EXPECT_EQ(recorder().launches, before);
    }
  }
  EXPECT_THAT(pair.state(), HasSubstr("gradients lie apart"));
  EXPECT_EQ(recorder().recorded, 3);
}

TEST_F(ReplayTraining, SeveralForwardsBeforeTheirBackwards) {
  for (int i = 0; i < 6; ++i) step();
  for (int round = 0; round < 4; ++round) {
    std::vector<Happened> pending;
    for (int i = 0; i < 3; ++i) pending.push_back(forward(x.add_(1)));
    for (int i : {1, 0, 2}) backward(pending[i]);
    for (const Happened& h : pending) h.check_result(pair.state());
    pending.clear();
    step();
  }
  EXPECT_EQ(launches_of_a_step(), 0);
}

TEST_F(ReplayTraining, ABackwardThatComesTwice) {
  for (int i = 0; i < 6; ++i) step();
  for (int round = 0; round < 4; ++round) {
    Happened happened = forward(x.add_(1));
    const Gradients first = backward(happened, /*keep=*/true);
    const Gradients second = backward(happened);
    first.check(pair.state());
  }
}

TEST_F(ReplayTraining, ABackwardThatNeverComes) {
  for (int i = 0; i < 6; ++i) step();
  for (int i = 0; i < 4; ++i) forward(x.add_(1));
  EXPECT_EQ(launches_of_a_step(), 0);
}

// As the gradient of logits, which the graph behind this one makes: read where it lies once that
// graph is recorded, too, and never elsewhere than it lies.
TEST_F(ReplayTraining, ALargeTangentThatSettles) {
  constexpr int64_t kLarge = 1 << 19;
  const std::string shape = "f32[" + std::to_string(kLarge) + "]";
  std::string text = kBackward;
  text.replace(text.find("arg2: f32[4]"), 12, "arg2: " + shape);
  ReplayedTraining large{compiled(kForward), compiled(text), 1, fake_pool};
  const auto step = [&](const Tensor& tangent) {
    const Tensor t = numbers();
    to_cpu(tangent).narrow(0, 0, 4).copy_(t);
    std::vector<Tensor> out = large.forward({in_host_memory(x), in_host_memory(w)});
    std::vector<Tensor> inputs{in_host_memory(w), out[1], tangent};
    out.clear();
    const Gradients gradients{2 * (2 * (x + w) + t), t, w, large.backward(std::move(inputs))};
    gradients.check(large.state());
  };
  Tensor before = at::zeros({kLarge}), behind = at::zeros({kLarge});
  for (int i = 0; i < 8; ++i) step(in_host_memory(before));
  EXPECT_THAT(large.state(), HasSubstr("forward replayed"));
  for (int i = 0; i < 6; ++i) step(in_host_memory(behind));
  EXPECT_THAT(large.state(), HasSubstr("forward and backward replayed"));
  for (int i = 0; i < 10; ++i) step(in_host_memory(before));
  EXPECT_THAT(large.state(), HasSubstr("forward and backward replayed"));
}

TEST_F(ReplayTraining, AParameterThatIsReplaced) {
  for (int i = 0; i < 6; ++i) step();
  w = numbers();
  for (int i = 0; i < 6; ++i) step();
  EXPECT_THAT(pair.state(), HasSubstr("1 and 2 inputs copied"));
}

TEST_F(ReplayTraining, AnotherStreamRunsByLaunchesUntilItIsKnown) {
  for (int i = 0; i < 6; ++i) step();
  Happened happened = forward(x);
  {
    const c10::StreamGuard guard(c10::Stream(c10::Stream::UNSAFE, kDevice, 1));
    const int replays = recorder().replays;
    backward(happened);
    EXPECT_EQ(recorder().replays, replays);
    for (int i = 0; i < 6; ++i) step();
    EXPECT_GT(recorder().replays, replays);
  }
}

TEST_F(ReplayTraining, WhatCannotBeRecordedRunsByLaunches) {
  recorder().fails = true;
  for (int i = 0; i < 6; ++i) step();
  EXPECT_EQ(pair.state(), "not CUDA graphs: an operator waits for the device");
}

TEST_F(ReplayTraining, WhatOutlivesThePairStays) {
  Happened happened;
  {
    ReplayedTraining other{compiled(kForward), compiled(kBackward), 1, fake_pool};
    const Tensor given = in_host_memory(x), same = in_host_memory(w);
    for (int i = 0; i < 6; ++i) {
      std::vector<Tensor> out = other.forward({given, same});
      happened = {x, w, out[0], out[1]};
      if (i < 4) happened = {};
    }
  }
  happened.check_result("");
  EXPECT_TRUE(to_cpu(happened.saved).equal(2 * (x + w)));
}

TEST_F(ReplayTraining, MemoryGoesBack) {
  const int64_t before = bytes_in_use();
  {
    ReplayedTraining other{compiled(kForward), compiled(kBackward), 1, fake_pool};
    const Tensor given = in_host_memory(x), same = in_host_memory(w);
    for (int i = 0; i < 6; ++i) {
      std::vector<Tensor> out = other.forward({given, same});
      std::vector<Tensor> inputs{same, std::move(out[1]), given};
      other.backward(std::move(inputs));
    }
    EXPECT_GT(bytes_in_use(), before);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

// 128 MB are saved; the backward lets them go and makes a gradient as large. By launches a step
// takes 128 MB, as it does in one pool; 128 more where the gradients of the step before are held,
// beside which two backwards in pools apart would take 128 each.
class ReplayOfLargeTensors : public testing::Test {
 protected:
  static constexpr char kSaves[] =
      "plan 1 forward(arg0) -> buf1, buf0 {\n"
      "  arg0: f32[4]@cuda:0 input\n  buf0: f32[33554432]@cuda:0 owned\n"
      "  buf1: f32[4]@cuda:0 owned\n  arena 0\n"
      "  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n"
      "  allocate buf1\n  launch k(buf0, buf1) on 3 blocks of 128\n}\n";
  static constexpr char kFrees[] =
      "plan 1 backward(arg0) -> buf1 {\n"
      "  arg0: f32[33554432]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n"
      "  buf1: f32[33554432]@cuda:0 owned\n  arena 0\n"
      "  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n  release arg0\n"
      "  allocate buf1\n  launch k(buf0, buf1) on 3 blocks of 128\n  release buf0\n}\n";

  void SetUp() override {
    recorder() = {};
    dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA))->resetPeakStats(0);
  }

  std::vector<Tensor> step() {
    std::vector<Tensor> out = pair.forward({x});
    out.erase(out.begin());
    return pair.backward(std::move(out));
  }

  const Tensor x = in_host_memory(at::ones({4}));
  ReplayedTraining pair{compiled(kSaves), compiled(kFrees), 1, fake_pool};
};

TEST_F(ReplayOfLargeTensors, APoolThatHoldsWhatAStepHoldsIsKept) {
  for (int i = 0; i < 6; ++i) step();
  EXPECT_THAT(pair.state(), HasSubstr("forward and backward replayed"));
}

TEST_F(ReplayOfLargeTensors, PoolsThatHoldMuchMoreAreLetGo) {
  std::vector<Tensor> last;
  for (int i = 0; i < 8; ++i) last = step();
  EXPECT_THAT(pair.state(), HasSubstr("more memory than launches"));
}

// A forward that draws twice and returns 2 (x + its states), with the states saved, and a backward
// that takes them.
TEST(ReplayOfDraws, StatesAreThoseOfEachCall) {
  constexpr char kDraw[] =
      "plan 1 forward(arg0) -> buf2, buf0, buf1 {\n"
      "  arg0: f32[4]@cuda:0 input\n  buf0: i64[2] extern\n  buf1: i64[2] extern\n"
      "  buf2: f32[4]@cuda:0 owned\n  arena 0\n"
      "  call buf0 = torchdyn::philox_state(increment=4, aligned=[arg0], device=@cuda:0)\n"
      "  call buf1 = torchdyn::philox_state(increment=12, aligned=tensor[], device=@cuda:0)\n"
      "  allocate buf2\n  launch k(arg0, buf2) with buf0, buf1 on 3 blocks of 128\n}\n";
  constexpr char kDrawn[] =
      "plan 1 backward(arg0, arg1, arg2) -> buf0 {\n"
      "  arg0: i64[2] input\n  arg1: i64[2] input\n  arg2: f32[4]@cuda:0 input\n"
      "  buf0: f32[4]@cuda:0 owned\n  arena 0\n  allocate buf0\n"
      "  launch k(arg2, buf0) with arg1, arg0 on 3 blocks of 128\n"
      "  release arg0\n  release arg1\n  release arg2\n}\n";
  recorder() = {};
  ReplayedTraining pair{compiled(kDraw), compiled(kDrawn), 1, fake_pool};
  at::Generator generator = at::globalContext().defaultGenerator(kDevice);
  generator.set_current_seed(17);
  const Tensor zeros = at::zeros({4}), x = in_host_memory(zeros);
  for (int64_t call = 0; call < 8; ++call) {
    std::vector<Tensor> out = pair.forward({x});
    const float sum = 2.0f * (17 + 4 * call + 17 + 4 * call + 1);
    EXPECT_TRUE(to_cpu(out[0]).equal(zeros + sum)) << call << " " << pair.state();
    EXPECT_TRUE(out[2].equal(at::tensor({int64_t{17}, 4 * call + 1}, at::kLong))) << call;
    EXPECT_TRUE(to_cpu(pair.backward({out[1], out[2], x})[0]).equal(zeros + sum)) << call;
  }
  EXPECT_EQ(recorder().replays, 2 * 5);
}

// What an operator draws, and a kernel behind it, by the order of the program.
TEST(ReplayOfDraws, AnOperatorThatDrawsRunsBetweenTwoPieces) {
  constexpr char kDraw[] =
      "plan 1 forward(arg0) -> buf3, buf1 {\n"
      "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n"
      "  buf1: f32[4]@cuda:0 extern\n  buf2: i64[2] extern\n  buf3: f32[4]@cuda:0 owned\n"
      "  arena 0\n  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n"
      "  call buf1 = aten::bernoulli(self=buf0, generator=none)\n"
      "  call buf2 = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)\n"
      "  allocate buf3\n  launch k(buf0, buf1, buf3) with buf2 on 3 blocks of 128\n"
      "  release buf0\n  release buf2\n}\n";
  constexpr char kDrawn[] =
      "plan 1 backward(arg0) -> buf0 {\n"
      "  arg0: f32[4]@cuda:0 input\n  buf0: f32[4]@cuda:0 owned\n  arena 0\n"
      "  allocate buf0\n  launch k(arg0, buf0) on 3 blocks of 128\n  release arg0\n}\n";
  recorder() = {};
  ReplayedTraining pair{compiled(kDraw), compiled(kDrawn), 1, fake_pool};
  at::Generator generator = at::globalContext().defaultGenerator(kDevice);
  generator.set_current_seed(17);
  const Tensor values = at::randint(0, 100, {4}).to(at::kFloat), x = in_host_memory(values);
  for (int64_t call = 0; call < 8; ++call) {
    std::vector<Tensor> out = pair.forward({x});
    const Tensor drawn = 2 * values + 8 * call;
    EXPECT_TRUE(to_cpu(out[0]).equal(2 * (2 * values + drawn + 17 + 2 * call + 1))) << call;
    out.erase(out.begin());
    EXPECT_TRUE(to_cpu(pair.backward(std::move(out))[0]).equal(2 * drawn)) << call;
  }
  EXPECT_EQ(recorder().replays, 3 * 5);
}

// Whatever a program does, in whatever order, after some usual steps.
class AnyProgram : public ReplayTraining, public testing::WithParamInterface<int> {};

TEST_P(AnyProgram, ReturnsWhatLaunchesReturn) {
  std::mt19937 random(GetParam());
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  std::vector<Happened> pending, held;
  std::vector<Gradients> gradients;
  const bool gradients_lie_apart = GetParam() % 2;
  for (int i = 0; i < 5; ++i) {
    Happened happened = forward(x);
    Gradients g = backward(happened);
    gradients.clear();
    if (gradients_lie_apart) gradients.push_back(g);
  }
  for (int i = 0; i < 60; ++i) {
    if (chance(5)) w = numbers();
    if (chance(40)) w.add_(1);
    if (chance(50) || pending.empty()) pending.push_back(forward(chance(20) ? numbers() : x));
    if (chance(60)) {
      const size_t which = random() % pending.size();
      Gradients g = backward(pending[which], chance(20));
      if (chance(20)) gradients.push_back(g);
      if (chance(20)) held.push_back(pending[which]);
      if (!pending[which].saved.defined() || chance(20)) pending.erase(pending.begin() + which);
    }
    if (chance(50)) step();
    for (const Happened& h : pending) h.check_result(pair.state());
    for (const Happened& h : held) h.check_result(pair.state());
    for (const Gradients& g : gradients) g.check(pair.state());
    if (chance(30)) held.clear();
    if (chance(30)) gradients.clear();
    if (chance(10)) pending.clear();
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, AnyProgram, testing::Range(0, 200));

}  // namespace
}  // namespace fake_cuda
