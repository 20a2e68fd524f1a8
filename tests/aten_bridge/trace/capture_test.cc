#include "aten_bridge/trace/capture.h"

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

TEST(Capture, RecordsForwardAndBackwardAsOneGraph) {
  const Captured c = capture_named({{"x", torch::randn({2, 3})}, {"w", leaf({3, 4})}},
                                   [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; });
  EXPECT_EQ(print(c.joint.graph),
            R"(graph 1 joint(x: f32[2, 3], w: f32[3, 4], tangent0: f32[2, 4]) {
  %0: f32[2, 4] = aten::mm(x, mat2=w)
  %1: f32[3, 2]{1, 3} = aten::t(x)
  %2: f32[3, 4] = aten::mm(%1, mat2=tangent0)
  return %0, none, %2
}
)");
  EXPECT_EQ(c.joint.primals, 2);
  EXPECT_EQ(c.joint.tangents, 1);
  EXPECT_EQ(c.joint.results, 1);
}

TEST(Capture, WithoutGradientThereAreNoTangents) {
  const Captured c = capture_named({{"x", torch::randn({2})}},
                                   [](const Tensors& t) { return Tensors{t[0] * 2.0 + 1}; });
  EXPECT_EQ(print(c.joint.graph), R"(graph 1 joint(x: f32[2]) {
  %0: f32[2] = aten::mul.Scalar(x, other=2.0)
  %1: f32[2] = aten::add.Scalar(%0, other=1, alpha=1)
  return %1
}
)");
}

TEST(Capture, MlpWithDropoutTrains) {
  expect_same_as_eager(
      {{"x", torch::randn({4, 8})}, {"w", leaf({16, 8})}, {"b", leaf({16})}, {"v", leaf({3, 16})}},
      [](const Tensors& t) {
        auto h = at::dropout(torch::relu(at::linear(t[0], t[1], t[2])), 0.5, true);
        return Tensors{at::linear(h, t[3]).log_softmax(1).mean()};
      });
}

TEST(Capture, DropoutOnTransposedInputDrawsAsEager) {
  expect_same_as_eager({{"x", torch::randn({40, 30}).requires_grad_()}},
                       [](const Tensors& t) { return Tensors{at::dropout(t[0].t(), 0.3, true)}; });
}

TEST(Capture, AttentionBlockTrains) {
  const int64_t d = 16;
  const auto leaf = [](at::IntArrayRef sizes) {  // exact enough to tell an error from rounding
    return torch::randn(sizes, torch::kDouble).requires_grad_();
  };
  auto ids = torch::randint(0, 20, {2, 6}, torch::kLong);
  expect_same_as_eager(
      {{"ids", ids},
       {"E", leaf({20, d})},
       {"Wq", leaf({3 * d, d})},
       {"Wo", leaf({20, d})},
       {"lw", leaf({d})},
       {"lb", leaf({d})}},
      [d](const Tensors& t) {
        auto h = at::embedding(t[1], t[0]);
        auto qkv = at::linear(at::layer_norm(h, {d}, t[4], t[5]), t[2]).chunk(3, -1);
        auto heads = [&](at::Tensor x) { return x.view({2, 6, 4, d / 4}).transpose(1, 2); };
        auto y = at::scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), {},
                                                  0.0, true)
                     .transpose(1, 2)
                     .reshape({2, 6, d});
        y = h + at::dropout(at::gelu(y, "tanh"), 0.1, true);
        return Tensors{at::cross_entropy_loss(at::linear(y, t[3]).view({12, 20}), t[0].view({-1}))};
      });
}

TEST(Capture, ConvolutionAndBatchNormTrain) {
  expect_same_as_eager({{"x", torch::randn({5, 3, 8, 8})},
                        {"w", leaf({8, 3, 3, 3})},
                        {"g", leaf({8})},
                        {"b", leaf({8})},
                        {"mean", torch::zeros({8})},
                        {"var", torch::ones({8})}},
                       [](const Tensors& t) {
                         auto h = at::conv2d(t[0], t[1], {}, 1, 1);
                         h = at::batch_norm(h, t[2], t[3], t[4], t[5], true, 0.1, 1e-5, false);
                         h.relu_();
                         return Tensors{h.mean({2, 3})};
                       });
}

TEST(Capture, InPlaceChainsOnIntermediates) {
  expect_same_as_eager({{"x", torch::randn({4, 6})}, {"w", leaf({4, 6})}}, [](const Tensors& t) {
    auto y = t[0] * t[1];
    y.select(0, 1).mul_(5);
    y.slice(1, 0, 6, 2).add_(1);
    y.t().index_put_({torch::tensor({0, 2})}, torch::zeros({2, 4}));
    return Tensors{y + t[0]};
  });
}

TEST(Capture, ViewOfInputIsMutated) {
  const Named inputs{{"x", torch::randn({4, 6})}, {"y", torch::randn({4})}};
  const TracedCallable program = [](const Tensors& t) {
    t[0].view({24}).slice(0, 0, 4).add_(t[1]);
    return Tensors{t[0].sum()};
  };
  expect_same_as_eager(inputs, program);
  const Captured c = capture_named(inputs, program);
  ASSERT_EQ(c.mutations.size(), 1u);
  EXPECT_EQ(c.mutations[0].input, 0);
  EXPECT_EQ(c.mutations[0].result, 1);
}

struct Net : torch::nn::Module {
  torch::nn::Linear linear{nullptr};
  at::Tensor ema;
  Net() {
    linear = register_module("linear", torch::nn::Linear(3, 2));
    ema = register_buffer("ema", torch::zeros({2}));
  }
};

TEST(Capture, ModuleMembersAreSubstitutedByIdentity) {
  Net net;
  const auto x = torch::randn({5, 3});
  const auto version = net.ema._version();
  const Captured c = capture_named(
      {{"x", x}, {"weight", net.linear->weight}, {"bias", net.linear->bias}, {"ema", net.ema}},
      [&](const Tensors& t) {
        auto y = net.linear->forward(t[0]);
        const at::NoGradGuard no_grad;
        net.ema.mul_(0.9).add_(y.detach().mean(0), 0.1);
        return Tensors{y};
      });
  EXPECT_EQ(net.ema._version(), version);
  EXPECT_FALSE(net.linear->weight.grad().defined());
  ASSERT_EQ(c.mutations.size(), 1u);
  EXPECT_EQ(c.mutations[0].input, 3);
}

TEST(Capture, ResultsSayWhereTheyComeFrom) {
  const Captured c =
      capture_named({{"x", torch::randn({4, 6})}, {"w", leaf({4, 6})}}, [](const Tensors& t) {
        auto y = t[0] * t[1];
        return Tensors{t[0],         t[1].t(),   y, y.select(0, 1),
                       at::Tensor(), y.detach(), y, t[1].detach()};
      });
  using Kind = ResultSource::Kind;
  ASSERT_EQ(c.results.size(), 8u);
  EXPECT_EQ(c.results[0].kind, Kind::kInput);
  EXPECT_EQ(c.results[1].kind, Kind::kViewOfInput);
  EXPECT_EQ(c.results[1].index, 1);
  EXPECT_EQ(c.results[1].strides, (std::vector<SymExpr>{1, 6}));
  EXPECT_EQ(c.results[2].kind, Kind::kGraph);
  EXPECT_EQ(c.results[3].kind, Kind::kViewOfGraph);
  EXPECT_EQ(c.results[3].offset, 6);
  EXPECT_FALSE(c.results[3].detached);
  EXPECT_EQ(c.results[4].kind, Kind::kUndefined);
  EXPECT_EQ(c.results[5].kind, Kind::kViewOfGraph);
  EXPECT_TRUE(c.results[5].detached);
  EXPECT_EQ(c.results[6].kind, Kind::kGraph);
  EXPECT_EQ(c.results[6].index, c.results[2].index);
  EXPECT_TRUE(c.results[7].detached);
  EXPECT_EQ(c.joint.results, 1);
}

}  // namespace
}  // namespace aten_bridge
