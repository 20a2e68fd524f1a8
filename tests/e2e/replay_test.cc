// A compiled function that is called again and again: on a GPU its calls become one CUDA graph, and
// no result tells.
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

constexpr int kCalls = 12;

Tensor normal(at::IntArrayRef sizes) { return torch::randn(sizes).to(test_device()); }

template <class Compiled>
std::string replay_of(const Compiled& compiled) {
  return explain(compiled).variants.at(0).replay;
}

// What explain() says of a graph that can be replayed; nothing on the CPU.
testing::Matcher<std::string> replayed(const std::string& what) {
  return test_device().is_cuda() ? HasSubstr(what) : HasSubstr("");
}

struct Net : nn::Module {
  Net() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(8));
    head = register_module("head", nn::Linear(8, 5));
    to(test_device());
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = norm(conv(x)).relu();
    return head(y.mean({2, 3})).softmax(1);
  }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear head{nullptr};
};

class Replayed : public testing::Test {
 protected:
  const torch::NoGradGuard no_grad;
};

TEST_F(Replayed, InputsThatMoveAndResultsThatAreHeld) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    return std::vector<Tensor>{(x.mm(w).relu() + x).softmax(1), x.mm(w).sum(0)};
  };
  const auto compiled = compile(f);
  const Tensor w = normal({64, 64});
  std::vector<std::vector<Tensor>> inputs, results;
  for (int call = 0; call < kCalls; ++call) {
    inputs.push_back({normal({32, 64}), w});
    results.push_back(compiled(inputs.back()[0], w));
  }
  EXPECT_THAT(replay_of(compiled), replayed("replayed as one CUDA graph"));
  for (int call = 0; call < kCalls; ++call) {
    const auto eager = f(inputs[call][0], w);
    EXPECT_TRUE(torch::allclose(results[call][0], eager[0], 1e-4, 1e-5)) << call;
    EXPECT_TRUE(torch::allclose(results[call][1], eager[1], 1e-4, 1e-4)) << call;
  }
}

TEST_F(Replayed, AModelWhoseWeightsChangeInPlaceAndAreReplaced) {
  const auto net = std::make_shared<Net>();
  net->eval();
  const auto compiled = compile([](Net& n, const Tensor& x) { return n.forward(x); });
  for (int call = 0; call < kCalls; ++call) {
    const Tensor x = normal({4, 3, 16, 16});
    EXPECT_TRUE(torch::allclose(compiled(*net, x), net->forward(x), 1e-4, 1e-5)) << call;
    if (call % 2 == 0) net->head->weight.add_(0.1);
    if (call == 8) net->head->weight.set_data(normal({5, 8}));
  }
  EXPECT_THAT(explain(compiled).variants.back().replay, replayed("CUDA graph"));
}

TEST_F(Replayed, ABufferThatTheModelChanges) {
  const auto net = std::make_shared<Net>(), same = std::make_shared<Net>();
  for (size_t i = 0; i < net->parameters().size(); ++i)
    same->parameters()[i].copy_(net->parameters()[i]);
  const auto compiled = compile([](Net& n, const Tensor& x) { return n.forward(x); });
  for (int call = 0; call < kCalls; ++call) {
    const Tensor x = normal({4, 3, 16, 16});
    EXPECT_TRUE(torch::allclose(compiled(*net, x), same->forward(x), 1e-4, 1e-5)) << call;
  }
  EXPECT_TRUE(torch::allclose(net->norm->running_mean, same->norm->running_mean, 1e-4, 1e-6));
  EXPECT_EQ(net->norm->num_batches_tracked.item<int64_t>(), kCalls);
}

TEST_F(Replayed, AResultThatTheProgramChanges) {
  const auto f = [](const Tensor& x) { return x.mm(x).tanh().mm(x); };
  const auto compiled = compile(f);
  const Tensor x = normal({16, 16}) / 4, expected = f(x);
  for (int call = 0; call < kCalls; ++call) {
    Tensor y = compiled(x);
    EXPECT_TRUE(torch::allclose(y, expected, 1e-4, 1e-5)) << call;
    y.zero_();
    y.resize_({100});
    y.fill_(7);
  }
}

TEST_F(Replayed, NotWhereItIsNotWanted) {
  const auto f = [](const Tensor& x) { return x.mm(x).tanh().mm(x); };
  Options options;
  options.cudagraphs = false;
  const auto compiled = compile(f, options);
  const Tensor x = normal({16, 16}) / 4;
  for (int call = 0; call < kCalls; ++call) EXPECT_TRUE(torch::allclose(compiled(x), f(x), 1e-4));
  EXPECT_EQ(replay_of(compiled), "");
}

TEST_F(Replayed, RandomNumbersGoOn) {
  const auto compiled =
      compile([](const Tensor& x) { return torch::dropout(x.mm(x), 0.5, true).relu(); });
  const Tensor x = normal({16, 16});
  Tensor last = compiled(x);
  for (int call = 0; call < kCalls; ++call) {
    const Tensor next = compiled(x);
    EXPECT_FALSE(torch::equal(last, next)) << call;
    last = next;
  }
}

TEST_F(Replayed, WhatWaitsForTheDeviceRunsByLaunches) {
  const auto f = [](const Tensor& x) {
    return x.relu().nonzero().sum(0) + x.mm(x).tanh().sum().to(torch::kLong);
  };
  const auto compiled = compile(f);
  const Tensor x = normal({16, 16});
  for (int call = 0; call < kCalls; ++call) EXPECT_TRUE(torch::equal(compiled(x), f(x))) << call;
}

TEST_F(Replayed, InInferenceMode) {
  const c10::InferenceMode inference;
  const auto f = [](const Tensor& x) { return x.mm(x).tanh().mm(x); };
  const auto compiled = compile(f);
  for (int call = 0; call < kCalls; ++call) {
    const Tensor x = normal({16, 16}) / 4, y = compiled(x);
    EXPECT_TRUE(y.is_inference());
    EXPECT_TRUE(torch::allclose(y, f(x), 1e-4, 1e-5)) << call;
  }
}

}  // namespace
}  // namespace torchdyn
