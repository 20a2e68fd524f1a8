#include "torchdyn/replay/replay.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/once.h"
#include "tests/inductor/support/picky_compiler.h"
#include "tests/torchdyn/lying_operator.h"

namespace torchdyn {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Replay : public ::testing::Test {
 protected:
  std::string file_with(const std::string& text) const {
    const std::string path = folder_.path() + "/graph.txt";
    std::ofstream(path) << text;
    return path;
  }
  Replayed replayed(const std::string& graph, bool shrink = true) {
    return replay(file_with(graph), shrink, progress_);
  }

  const inductor::ScratchDirectory folder_;
  std::ostringstream progress_;
};

TEST_F(Replay, AGraphThatIsRightHasNoProblem) {
  const Replayed replayed = this->replayed(R"(graph 1 forward(weight: f32[20, 8], ids: i64[5]) {
    %0: f32[5, 8] = aten::embedding(weight=weight, indices=ids, padding_idx=-1, scale_grad_by_freq=false, sparse=false)
    %1: f32[5, 8] = aten::tanh(%0)
    return %1, none
  })");
  EXPECT_EQ(replayed.problem, "");
  EXPECT_EQ(replayed.smallest, "");
}

// A joint graph is split, too; a backward, which has tangents as well, is not.
TEST_F(Replay, GraphsOfEachStageRun) {
  constexpr char kJoint[] = R"((x: f32[8, 4], tangent0: f32[8, 4]) {
    %0: f32[8, 4] = aten::tanh(x)
    %1: f32[8, 4] = aten::tanh_backward(grad_output=tangent0, output=%0)
    return %0, %1
  })";
  EXPECT_EQ(replayed(std::string("graph 1 joint") + kJoint).problem, "");
  EXPECT_EQ(replayed(R"(graph 1 backward(y: f32[8, 4], tangent0: f32[8, 4]) {
    %0: f32[8, 4] = aten::tanh_backward(grad_output=tangent0, output=y)
    return %0
  })")
                .problem,
            "");
  EXPECT_THAT(replayed(R"(graph 1 joint(x: f32[8, 4], tangent0: f32[8, 4]) {
    %0: f32[8, 4] = aten::mul.Tensor(x, other=tangent0)
    return %0, tangent0
  })")
                  .problem,
              HasSubstr("internal error: "));
}

TEST_F(Replay, AFaultIsMadeAsSmallAsItIs) {
  const Replayed replayed = this->replayed(R"(graph 1 forward(x: f32[24, 6], y: f32[6]) {
    %0: f32[24, 6] = aten::mul.Tensor(x, other=y)
    %1: f32[24, 6] = aten::tanh(%0)
    %2: f32[24, 6] = torchdyn_test::lying_sum(x=%1)
    %3: f32[24, 6] = aten::sin(%2)
    %4: f32[6] = aten::sum.dim_IntList(%3, dim=[0], keepdim=false, dtype=none)
    return %4
  })");
  EXPECT_THAT(replayed.problem, HasSubstr("returned another type than planned"));
  EXPECT_THAT(replayed.smallest, HasSubstr(testing::kLyingOperator));
  EXPECT_THAT(replayed.smallest, Not(HasSubstr("aten::")));
  EXPECT_THAT(replayed.smallest, HasSubstr("f32[1, 1]"));
  EXPECT_THAT(progress_.str(), HasSubstr("1 operators: "));
  EXPECT_EQ(this->replayed(replayed.smallest, false).problem, replayed.problem);
}

TEST_F(Replay, ARejectedKernelIsAProblem) {
  const inductor::ScratchDirectory cache;
  const inductor::Variable cache_path("TORCHDYN_CACHE_DIR", cache.path());
  const inductor::PickyCompiler compiler("void [a-z_]*tanh");
  const aten_bridge::SaidCapture said;
  const Replayed replayed = this->replayed(R"(graph 1 forward(x: f32[24, 6]) {
    %0: f32[24, 6] = aten::exp(x)
    %1: f32[24, 6] = aten::tanh(%0)
    %2: f32[24, 6] = aten::neg(%1)
    return %2
  })");
  EXPECT_THAT(replayed.problem, HasSubstr("rejected: "));
  EXPECT_THAT(replayed.smallest, HasSubstr("aten::tanh"));
  EXPECT_THAT(replayed.smallest, Not(HasSubstr("aten::exp")));
  EXPECT_THAT(said.messages(), IsEmpty());  // of each graph that was tried
  EXPECT_FALSE(std::filesystem::exists(cache.path() + "/repro"));
}

TEST_F(Replay, AGraphForAnySizeRunsAtSome) {
  EXPECT_EQ(replayed(R"(graph 1 forward(x: f32[s0, 6], y: f32[s1, 6]) {
    %0: f32[s0 + s1, 6] = aten::cat(tensors=[x, y], dim=0)
    %1: f32[s0 + s1] = aten::sum.dim_IntList(%0, dim=[1], keepdim=false, dtype=none)
    return %1
  })")
                .problem,
            "");
}

TEST_F(Replay, OptionsAreThoseOfTheFolder) {
  file_with("graph 1 forward(x: f32[4]) {\n  %0: f32[4] = aten::exp(x)\n  return %0\n}\n");
  std::ofstream(folder_.path() + "/options.txt") << "numerics=eager strict=true\n";
  EXPECT_EQ(replay(folder_.path(), false, progress_).problem, "");
  std::ofstream(folder_.path() + "/options.txt") << "numerics=loose\n";
  EXPECT_THROW(replay(folder_.path(), false, progress_), std::invalid_argument);
}

TEST_F(Replay, WhatIsNoGraphIsRefused) {
  EXPECT_THROW(replay(folder_.path() + "/none", false, progress_), std::invalid_argument);
  EXPECT_THROW(replay(folder_.path(), false, progress_), std::invalid_argument);
  EXPECT_THROW(replayed("graph 1 forward(x: f32[4]) {"), std::invalid_argument);
}

}  // namespace
}  // namespace torchdyn
