// A compiled function that is trained step by step: on a GPU its forward and its backward become
// CUDA graphs, and no loss, gradient or parameter tells, whatever the program does in between.
#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;
namespace nn = torch::nn;

constexpr int kSteps = 14;

struct Net : nn::Module {
  explicit Net(double dropout = 0) : dropout(dropout) {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(8));
    body = register_module("body", nn::Linear(8, 32));
    head = register_module("head", nn::Linear(32, 5));
    to(test_device());
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = norm(conv(x)).relu().mean({2, 3});
    return head(torch::dropout(body(y).tanh(), dropout, is_training()));
  }
  const double dropout;
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear body{nullptr}, head{nullptr};
};

Tensor loss_of(Net& net, const Tensor& x, const Tensor& y) {
  return nn::functional::cross_entropy(net.forward(x), y);
}

// What explain() says of steps that can be replayed; nothing on the CPU.
template <class Compiled>
void expect_replay(const Compiled& compiled, const std::string& what) {
  const std::string replay = explain(compiled).variants.back().replay;
  EXPECT_THAT(replay, HasSubstr(test_device().is_cuda() ? what : ""));
}

constexpr char kBoth[] = "forward and backward replayed as CUDA graphs";

// A compiled net and one in eager, with equal parameters, that see the same.
class TrainedBeside : public testing::Test {
 protected:
  TrainedBeside() { copy(); }

  void copy() {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < eager->parameters().size(); ++i)
      eager->parameters()[i].copy_(net->parameters()[i]);
  }

  void expect_same_gradients(const std::string& when) {
    const auto expected = eager->named_parameters();
    for (const auto& p : net->named_parameters()) {
      const Tensor got = p.value().grad(), want = expected[p.key()].grad();
      ASSERT_EQ(got.defined(), want.defined()) << p.key() << " " << when;
      if (!want.defined()) continue;
      EXPECT_TRUE(torch::allclose(got, want, 1e-2, 1e-3)) << p.key() << " " << when;
    }
  }

  // Of a batch, in both.
  template <class Compiled>
  void forward_and_backward(const Compiled& compiled, int step, bool keep = false) {
    const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
    const Tensor y = torch::randint(0, 5, {4}).to(test_device());
    const Tensor got = compiled(*net, x, y), want = loss_of(*eager, x, y);
    EXPECT_TRUE(torch::allclose(got, want, 1e-3, 1e-4)) << step;
    got.backward({}, keep);
    want.backward({}, keep);
    if (!keep) return;
    got.backward();
    want.backward();
  }

  void zero(bool set_to_none = true) {
    net->zero_grad(set_to_none);
    eager->zero_grad(set_to_none);
  }

  // Both go on from the compiled one's parameters, so that roundings do not add up.
  void descend() {
    const torch::NoGradGuard no_grad;
    for (Tensor& p : net->parameters()) p.add_(p.grad(), -0.05);
    copy();
  }

  const std::shared_ptr<Net> net = std::make_shared<Net>(), eager = std::make_shared<Net>();
};

TEST_F(TrainedBeside, StepByStep) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    zero();
    forward_and_backward(compiled, step);
    expect_same_gradients(std::to_string(step));
    descend();
  }
  expect_replay(compiled, kBoth);
  EXPECT_TRUE(torch::allclose(net->norm->running_var, eager->norm->running_var, 1e-3, 1e-4));
}

TEST_F(TrainedBeside, GradientsZeroedInPlace) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    zero(/*set_to_none=*/false);
    forward_and_backward(compiled, step);
    expect_same_gradients(std::to_string(step));
    descend();
  }
  expect_replay(compiled, kBoth);
}

TEST_F(TrainedBeside, GradientsOfSeveralBatches) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    if (step % 3 == 0) zero();
    forward_and_backward(compiled, step);
    expect_same_gradients(std::to_string(step));
  }
}

TEST_F(TrainedBeside, GradientsThatAreKept) {
  const auto compiled = compile(loss_of);
  std::vector<std::vector<std::pair<Tensor, Tensor>>> kept;
  for (int step = 0; step < kSteps; ++step) {
    zero();
    forward_and_backward(compiled, step);
    auto& now = kept.emplace_back();
    for (size_t i = 0; i < net->parameters().size(); ++i)
      now.emplace_back(net->parameters()[i].grad(), eager->parameters()[i].grad());
    if (step < 6) kept.clear();
  }
  for (const auto& step : kept)
    for (const auto& [got, want] : step) EXPECT_TRUE(torch::allclose(got, want, 1e-2, 1e-3));
}

TEST_F(TrainedBeside, ABackwardTwiceAndNever) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    zero();
    forward_and_backward(compiled, step, /*keep=*/step % 4 == 3);
    expect_same_gradients(std::to_string(step));
    if (step % 3 == 0) {
      const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
      const Tensor y = torch::zeros({4}, torch::kLong).to(test_device());
      EXPECT_TRUE(torch::allclose(compiled(*net, x, y), loss_of(*eager, x, y), 1e-3, 1e-4));
    }
  }
}

TEST_F(TrainedBeside, ForwardsBeforeTheirBackwards) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    zero();
    std::vector<std::pair<Tensor, Tensor>> losses;
    for (int i = 0; i < 1 + step % 3; ++i) {
      const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
      const Tensor y = torch::randint(0, 5, {4}).to(test_device());
      losses.emplace_back(compiled(*net, x, y), loss_of(*eager, x, y));
    }
    for (auto& [got, want] : losses) {
      EXPECT_TRUE(torch::allclose(got, want, 1e-3, 1e-4)) << step;
      got.backward();
      want.backward();
    }
    expect_same_gradients(std::to_string(step));
  }
}

TEST_F(TrainedBeside, ALossThatIsHeld) {
  const auto compiled = compile(loss_of);
  const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
  const Tensor y = torch::randint(0, 5, {4}).to(test_device());
  Tensor last, last_of_eager;
  for (int step = 0; step < kSteps; ++step) {
    const Tensor got = compiled(*net, x, y), want = loss_of(*eager, x, y);
    if (step > 0) {
      EXPECT_TRUE(torch::allclose(last, last_of_eager, 1e-3, 1e-4)) << step;
    }
    zero();
    got.backward();
    want.backward();
    expect_same_gradients(std::to_string(step));
    last = got;
    last_of_eager = want;
    descend();
    zero();
  }
  expect_replay(compiled, "1 results copied");
}

TEST_F(TrainedBeside, UnderAutocast) {
  const auto compiled = compile(loss_of);
  Tensor first;
  const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
  const Tensor y = torch::randint(0, 5, {4}).to(test_device());
  for (int step = 0; step < kSteps; ++step) {
    net->zero_grad();
    at::autocast::set_autocast_enabled(test_device().type(), true);
    at::autocast::set_autocast_dtype(test_device().type(), at::kBFloat16);
    Tensor loss = compiled(*net, x, y);
    at::autocast::set_autocast_enabled(test_device().type(), false);
    at::autocast::clear_cache();
    loss.backward();
    if (step == 0) first = loss.detach();
    descend();
    if (step + 1 == kSteps) {
      EXPECT_LT(loss.item<float>(), first.item<float>());
    }
  }
  expect_replay(compiled, kBoth);
}

TEST_F(TrainedBeside, ParametersThatAreReplaced) {
  const auto compiled = compile(loss_of);
  for (int step = 0; step < kSteps; ++step) {
    zero();
    forward_and_backward(compiled, step);
    expect_same_gradients(std::to_string(step));
    if (step == 6) {
      const torch::NoGradGuard no_grad;
      net->head->weight.set_data(torch::randn({5, 32}).to(test_device()) / 8);
      copy();
    }
  }
}

// The same numbers, call by call, and where the generator stands behind them.
TEST(TrainedWithDropout, DrawsWhatEagerDraws) {
  const auto net = std::make_shared<Net>(/*dropout=*/0.5);
  const auto compiled = compile(loss_of);
  const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
  const Tensor y = torch::randint(0, 5, {4}).to(test_device());
  const auto steps = [&](const auto& f) {
    torch::manual_seed(7);
    std::vector<Tensor> seen;
    for (int step = 0; step < kSteps; ++step) {
      net->zero_grad();
      {
        const Tensor loss = f(*net, x, y);
        loss.backward();
        seen.push_back(loss.detach().clone());
      }
      seen.push_back(net->body->weight.grad().clone());
      seen.push_back(torch::rand({2}, test_device()));
    }
    return seen;
  };
  const auto want = steps(loss_of), got = steps(compiled);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(torch::allclose(got[i], want[i], 1e-2, 1e-3)) << i;
  expect_replay(compiled, kBoth);
}

TEST(TrainedByLaunches, WhereReplaysAreNotWanted) {
  const auto net = std::make_shared<Net>();
  Options options;
  options.cudagraphs = false;
  const auto compiled = compile(loss_of, options);
  const Tensor x = torch::randn({4, 3, 12, 12}).to(test_device());
  const Tensor y = torch::randint(0, 5, {4}).to(test_device());
  for (int step = 0; step < 6; ++step) compiled(*net, x, y).backward();
  EXPECT_EQ(explain(compiled).variants.at(0).replay, "");
}

}  // namespace
}  // namespace torchdyn
