// A check of ours that fails costs a call nothing but speed, and leaves a repro; under `strict` it
// is an error.
#include "torchdyn/broken.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/base/once.h"
#include "tests/inductor/support/picky_compiler.h"
#include "tests/torchdyn/lying_operator.h"
#include "torchdyn/calls.h"
#include "torchdyn/replay/replay.h"

namespace torchdyn {
namespace {

using aten_bridge::SaidCapture;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lying_sum;
using torch::Tensor;

class Broken : public ::testing::Test {
 protected:
  // The folder that a message names.
  static std::string folder_in(const std::string& message) {
    return message.substr(message.find(std::string("/tmp")));
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const inductor::ScratchDirectory cache_;
  const inductor::Variable cache_path_{"TORCHDYN_CACHE_DIR", cache_.path()};
  const Tensor x_ = torch::linspace(-1, 1, 12).view({3, 4});
};

TEST_F(Broken, ACheckThatFailsInARunCostsThatCallNothing) {
  const SaidCapture said;
  const auto f = [](const Tensor& x) { return lying_sum(x * 2).sin(); };
  const auto compiled = compile(f);
  for (int i = 0; i < 2; ++i) {
    const Tensor result = compiled(x_);
    EXPECT_EQ(result.scalar_type(), at::kDouble);
    EXPECT_TRUE(torch::equal(result, f(x_)));
  }
  const Explanation explanation = explain(compiled);
  EXPECT_THAT(explanation.refusals, ElementsAre(HasSubstr("returned another type than planned")));
  ASSERT_THAT(said.messages(), ElementsAre(HasSubstr("a repro is in ")));
  const std::string folder = folder_in(said.messages()[0]);
  EXPECT_EQ(text_of(folder + "/graph.txt"), explanation.variants.at(0).graphs.at(0).text);
  EXPECT_THAT(text_of(folder + "/options.txt"), HasSubstr("numerics=default"));
  EXPECT_THAT(text_of(folder + "/README.txt"),
              AllOf(HasSubstr("another type"), HasSubstr("torchdyn_replay " + folder)));
  EXPECT_THAT(replay(folder, false, std::cerr).problem, HasSubstr("another type than planned"));
}

class LyingGradient : public torch::autograd::Function<LyingGradient> {
 public:
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {lying_sum(gradients[0])};
  }
};

TEST_F(Broken, ACheckThatFailsInABackwardCostsItNothing) {
  const SaidCapture said;
  const auto f = [](const Tensor& x) { return LyingGradient::apply(x.sin()).square().sum(); };
  const auto compiled = compile(f);
  const auto gradient_of = [&](const auto& function) {
    const Tensor x = x_.clone().requires_grad_();
    function(x).backward();
    return x.grad();
  };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(torch::allclose(gradient_of(compiled), gradient_of(f)));
  EXPECT_THAT(said.messages(), ElementsAre(HasSubstr("a backward runs in eager")));
  EXPECT_THAT(text_of(folder_in(said.messages()[0]) + "/graph.txt"), HasSubstr("graph 1 backward"));
}

TEST_F(Broken, WhoLooksForFaultsGetsTheErrorAlone) {
  const SaidCapture said;
  const internal::TraceRef trace{
      [](void*, const std::vector<Tensor>& fakes, const std::vector<int64_t>&) {
        return internal::Traced{{LyingGradient::apply(fakes[0].sin()).sum()}, {}, nullptr};
      },
      nullptr};
  const Tensor x = x_.clone().requires_grad_();
  const CallToCompile calls[] = {{trace, {x}}};
  const auto compiled = compile_calls(calls, Numerics::kDefault, inductor::OnFault::kReport);
  const Tensor loss = (*compiled[0])({x})[0];
  EXPECT_THROW(loss.backward(), aten_bridge::InternalError);
  EXPECT_THAT(said.messages(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(cache_.path() + "/repro"));
}

TEST_F(Broken, UnderStrictItIsAnError) {
  Options options;
  options.strict = true;
  const auto compiled = compile([](const Tensor& x) { return lying_sum(x); }, options);
  for (int i = 0; i < 2; ++i) {
    try {
      compiled(x_);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InternalFailure& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("another type"), HasSubstr("a repro is in ")));
    }
  }
  const auto backward =
      compile([](const Tensor& x) { return LyingGradient::apply(x).sum(); }, options);
  const Tensor x = x_.clone().requires_grad_();
  EXPECT_THROW(backward(x).backward(), InternalFailure);
}

TEST_F(Broken, UnderStrictARejectedKernelIsAnError) {
  const SaidCapture said;
  const auto f = [](const Tensor& x) { return x.tanh() * 3; };
  const inductor::PickyCompiler compiler("void tanh_mul_");
  EXPECT_TRUE(torch::allclose(compile(f)(x_), f(x_)));
  Options options;
  options.strict = true;
  const auto compiled = compile(f, options);
  EXPECT_THROW(compiled(x_), InternalFailure);
}

}  // namespace
}  // namespace torchdyn
