// Programs of the kinds that capture must get right, each against eager.
#include <ATen/autocast_mode.h>

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

using Kind = ResultSource::Kind;

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

std::vector<std::string> operators_of(const Captured& c) {
  std::vector<std::string> ops;
  for (const auto& node : c.joint.graph.nodes()) ops.push_back(node->op);
  return ops;
}

TEST(Semantics, NumbersInTheProgramAreConstants) {
  const TracedCallable program = [](const Tensors& t) {
    return Tensors{2.0 * t[0] + torch::tensor(1.5) - 3 / t[0], torch::where(t[0] > 0, t[0], 7.0)};
  };
  expect_same_as_eager({{"x", torch::rand({3}) + 1}}, program);
}

TEST(Semantics, FactorsOfIntegersAreTruncated) {
  const auto integers = [](at::IntArrayRef sizes) { return torch::randint(-9, 9, sizes); };
  expect_same_as_eager({{"x", integers({5})},
                        {"m", integers({5, 7})},
                        {"v", integers({7})},
                        {"b", integers({3, 5, 7})},
                        {"c", integers({3, 7, 5})}},
                       [](const Tensors& t) {
                         const at::Tensor y = at::addmv(t[0], t[1], t[2], 1.9, 0.6);
                         return Tensors{y, at::baddbmm(t[0], t[3], t[4], 0.2, 2.6)};
                       });
}

TEST(Semantics, WrongShapesRaise) {
  using Call = at::Tensor (*)(const at::Tensor&);
  const Call calls[] = {
      [](const at::Tensor& x) { return at::embedding(x.select(0, 0), at::zeros({2}, at::kLong)); },
      [](const at::Tensor& x) { return at::roll(x, at::IntArrayRef{}); },
      [](const at::Tensor& x) { return at::roll(x.sum(), 1, 0); },
      [](const at::Tensor& x) {
        return at::roll(x, {1, 2}, 0);
      },
      [](const at::Tensor& x) {
        return at::rot90(x, 1, {1, 1});
      },
      [](const at::Tensor& x) { return at::bucketize(x, x); },
      [](const at::Tensor& x) { return at::ormqr(x, x.select(0, 0), x.select(0, 0)); },
      [](const at::Tensor& x) { return at::arange(5, 1, 2) + x.sum(); },
  };
  const at::Tensor x = torch::rand({4, 4});
  for (const Call& call : calls) {
    EXPECT_ANY_THROW(call(x)) << &call - calls;
    EXPECT_ANY_THROW(capture_named({{"x", x}}, [&](const Tensors& t) {
      return Tensors{call(t[0])};
    })) << &call - calls;
  }
}

TEST(Semantics, RandomOperatorsDrawInEagersOrder) {
  expect_same_as_eager({{"x", torch::randn({20, 30})}}, [](const Tensors& t) {
    auto y = t[0] + torch::rand({20, 30});
    y = y * torch::empty({20, 30}).normal_(0.5, 2.0);
    torch::randn({5});  // unused, but it advances the generator
    y = y + at::dropout(y, 0.4, true).bernoulli(0.5);
    return Tensors{y + torch::randint(0, 9, {30}) + torch::randperm(30),
                   torch::rand_like(t[0].t())};
  });
}

TEST(Semantics, AnInPlaceDrawIntoAStridedTensorDrawsAsEager) {
  expect_same_as_eager({{"x", torch::randn({20, 30})}}, [](const Tensors& t) {
    auto noise = torch::empty_like(t[0].t()).bernoulli_(0.5);
    return Tensors{noise * 2, at::dropout(t[0].view({4, 5, 30}).permute({2, 0, 1}), 0.5, true)};
  });
}

TEST(Semantics, WhatIsChangedInPlaceKeepsItsStrides) {
  const auto gaps = torch::randn({6, 8}).slice(1, 0, 8, 2);
  expect_same_as_eager({{"x", gaps}, {"y", torch::randn({4, 6})}}, [](const Tensors& t) {
    at::Tensor own = t[1].clone(), every_other = own.slice(1, 0, 6, 2);
    every_other.relu_().mul_(2);
    at::Tensor turned = t[1].clone().t();
    turned.tril_().cumsum_(0);
    t[0].sigmoid_();
    return Tensors{every_other, turned, own.relu() + own, t[0].slice(0, 0, 3)};
  });
}

TEST(Semantics, EveryInPlaceDrawDrawsAsEager) {
  using Draw = at::Tensor& (*)(at::Tensor&);
  const std::pair<const char*, Draw> draws[] = {
      {"normal_", [](at::Tensor& t) -> at::Tensor& { return t.normal_(1, 2); }},
      {"uniform_", [](at::Tensor& t) -> at::Tensor& { return t.uniform_(-1, 2); }},
      {"exponential_", [](at::Tensor& t) -> at::Tensor& { return t.exponential_(); }},
      {"cauchy_", [](at::Tensor& t) -> at::Tensor& { return t.cauchy_(); }},
      {"geometric_", [](at::Tensor& t) -> at::Tensor& { return t.geometric_(0.3); }},
      {"log_normal_", [](at::Tensor& t) -> at::Tensor& { return t.log_normal_(); }},
      {"random_", [](at::Tensor& t) -> at::Tensor& { return t.random_(); }},
      {"random_.to", [](at::Tensor& t) -> at::Tensor& { return t.random_(9); }},
      {"random_.from", [](at::Tensor& t) -> at::Tensor& { return t.random_(2, 9); }},
      {"bernoulli_", [](at::Tensor& t) -> at::Tensor& { return t.bernoulli_(0.3); }},
      {"bernoulli_.Tensor",
       [](at::Tensor& t) -> at::Tensor& { return t.bernoulli_(at::full_like(t, 0.5)); }},
  };
  for (const auto& [name, draw] : draws) {
    SCOPED_TRACE(name);
    expect_same_as_eager({{"x", torch::zeros({20, 30})}}, [draw = draw](const Tensors& t) {
      at::Tensor plain = at::empty_like(t[0]), strided = at::empty_like(t[0].t());
      at::Tensor row = t[0].select(0, 3);
      return Tensors{draw(plain) + 1, draw(strided) + 1, draw(row) + 1};
    });
  }
}

TEST(Semantics, InPlaceOperatorsChangeWhatTheyChangeInEager) {
  const at::Tensor at = torch::tensor({0, 2}), mask = torch::rand({3, 4}) > 0.5;
  expect_same_as_eager(
      {{"x", torch::rand({3, 4}) + 1}, {"w", torch::rand({3, 4})}, {"at", at}, {"mask", mask}},
      [](const Tensors& t) {
        at::Tensor y = t[0] * t[1], z = t[0] + 2;
        z.fill_(3).masked_fill_(t[3], 4).add_(t[1]).clamp_(0, 5).squeeze_().unsqueeze_(0);
        z.transpose_(1, 2).squeeze_(0).t_().lerp_(y, 0.25).pow_(2).tril_();
        y.index_fill_(1, t[2], 1).index_add_(1, t[2], t[1].slice(1, 0, 2)).neg_();
        y.index_copy_(1, t[2], t[0].slice(1, 1, 3)).masked_scatter_(t[3], t[1]);
        y.scatter_(1, t[2].expand({3, 2}), 7).addcmul_(y, t[1]).sigmoid_();
        t[0].zero_().copy_(t[1]).put_(t[2], t[1].select(0, 0).slice(0, 0, 2));
        return Tensors{y, z, t[0] + 1};
      });
}

TEST(Semantics, InPlaceOnAViewOfAnIntermediateCarriesGradients) {
  auto x = torch::arange(24.).view({4, 6}).slice(1, 0, 6, 2);
  expect_same_as_eager({{"x", x}, {"w", leaf({4, 3})}}, [](const Tensors& t) {
    using torch::indexing::None;
    using torch::indexing::Slice;
    auto y = t[0].clone() * t[1];
    y.select(0, 1).mul_(5);
    y.index_put_({Slice(), 0}, t[1].index({Slice(), 0}) * 2);
    y.index({Slice(None, None, 2)}).add_(1);
    t[0].narrow(1, 1, 2).sub_(3);
    return Tensors{y + t[0]};
  });
}

TEST(Semantics, TwoInputsThatSwapValues) {
  expect_same_as_eager({{"x", torch::randn({3})}, {"y", torch::randn({3})}}, [](const Tensors& t) {
    const auto old = t[0].clone();
    t[0].copy_(t[1]);
    t[1].copy_(old);
    return Tensors{t[0] - t[1]};
  });
}

TEST(Semantics, AChangedInputIsReadAnew) {
  expect_same_as_eager({{"x", torch::randn({3, 3})}}, [](const Tensors& t) {
    const auto row = t[0].select(0, 1);
    t[0].add_(1);
    row.mul_(3);
    return Tensors{row.clone(), t[0].t(), t[0]};
  });
}

TEST(Semantics, ResultsThatShareAnUnreturnedBase) {
  const TracedCallable program = [](const Tensors& t) {
    auto parts = (t[0] * t[1]).chunk(2, 1);
    return Tensors{parts[0], parts[1]};
  };
  const Named inputs{{"x", torch::randn({2, 6})}, {"w", leaf({2, 6})}};
  const Captured c = capture_named(inputs, program);
  ASSERT_EQ(c.joint.results, 1);
  EXPECT_EQ(c.results[0].kind, Kind::kViewOfGraph);
  EXPECT_EQ(c.results[1].kind, Kind::kViewOfGraph);
  EXPECT_EQ(c.results[1].offset, 3);
  EXPECT_EQ(c.results[1].strides, (std::vector<SymExpr>{6, 1}));
  EXPECT_EQ(c.differentiable, std::vector<bool>{true});
}

TEST(Semantics, AnExpandedResultIsAViewOfItsBase) {
  const Captured c = capture_named({{"x", torch::randn({3})}}, [](const Tensors& t) {
    return Tensors{(t[0] * 2).expand({4, 3})};
  });
  ASSERT_EQ(c.results[0].kind, Kind::kViewOfGraph);
  EXPECT_EQ(c.results[0].strides, (std::vector<SymExpr>{0, 1}));
}

TEST(Semantics, ACopyIsAResultOfItsOwn) {
  const Captured c = capture_named({{"x", torch::randn({3})}}, [](const Tensors& t) {
    auto y = torch::empty({3});
    y.copy_(t[0]);
    return Tensors{y};
  });
  EXPECT_EQ(c.results[0].kind, Kind::kGraph);
  EXPECT_EQ(operators_of(c), std::vector<std::string>{"aten::clone"});
}

TEST(Semantics, AViewInAndOutLeavesNoNode) {
  const Captured c = capture_named({{"w", leaf({4, 4})}}, [](const Tensors& t) {
    return Tensors{t[0].t().t().view({16}).view({4, 4}).detach().alias() * 2};
  });
  EXPECT_EQ(operators_of(c), std::vector<std::string>{"aten::mul.Scalar"});
}

TEST(Semantics, UnusedWorkIsNotInTheGraph) {
  const Captured c = capture_named({{"x", torch::randn({3})}}, [](const Tensors& t) {
    t[0].exp().sum();
    return Tensors{t[0] + 1};
  });
  EXPECT_EQ(operators_of(c), std::vector<std::string>{"aten::add.Scalar"});
}

TEST(Semantics, EvaluationOfBatchNormReadsItsStatistics) {
  torch::nn::BatchNorm2d bn(3);
  bn->eval();
  const Named inputs{{"x", torch::randn({2, 3, 4, 4})},
                     {"w", bn->weight.detach()},
                     {"b", bn->bias.detach()},
                     {"mean", torch::randn({3})},
                     {"var", torch::rand({3}) + 1}};
  const TracedCallable program = [](const Tensors& t) {
    return Tensors{at::batch_norm(t[0], t[1], t[2], t[3], t[4], false, 0.1, 1e-5, false)};
  };
  expect_same_as_eager(inputs, program);
  EXPECT_TRUE(capture_named(inputs, program).mutations.empty());
}

TEST(Semantics, GradientsThatAreExpandedComeDense) {
  const Captured c =
      capture_named({{"w", leaf({4, 3})}}, [](const Tensors& t) { return Tensors{t[0].sum()}; });
  const auto& gradient = c.joint.graph.outputs()[1];
  ASSERT_TRUE(gradient.has_value());
  EXPECT_TRUE(is_contiguous(gradient->type()));
}

TEST(Semantics, WithoutGradModeNothingIsDifferentiable) {
  const at::NoGradGuard no_grad;
  const Captured c =
      capture_named({{"x", torch::randn({2, 3})}, {"w", leaf({3, 4})}}, [](const Tensors& t) {
        return Tensors{t[0].mm(t[1]), t[1].t()};
      });
  EXPECT_EQ(c.joint.tangents, 0);
  EXPECT_EQ(c.joint.graph.outputs().size(), 1u);
  EXPECT_EQ(c.results[1].kind, Kind::kViewOfInput);
}

TEST(Semantics, AutocastCastsAsEager) {
  const Named inputs{{"x", torch::randn({4, 8})}, {"w", leaf({8, 8})}};
  const TracedCallable program = [](const Tensors& t) {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    auto y = at::linear(at::linear(t[0], t[1]), t[1]);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    return Tensors{y};
  };
  const Captured c = capture_named(inputs, program);
  ASSERT_EQ(c.joint.results, 1);
  EXPECT_EQ(c.joint.graph.outputs()[0]->type().dtype, DType::kBFloat16);
}

TEST(Semantics, OriginsNameTheProgramsOperators) {
  const Captured c = capture_named({{"x", torch::randn({4, 8})}},
                                   [](const Tensors& t) { return Tensors{at::gelu(t[0])}; });
  for (const auto& node : c.joint.graph.nodes()) EXPECT_EQ(node->origin, "aten::gelu");
}

TEST(Semantics, AGraphsNodesHaveTheTypesThatRunningThemGives) {
  const Captured c = capture_named(
      {{"x", torch::randn({5, 3, 8, 8})}, {"w", leaf({8, 3, 3, 3})}}, [](const Tensors& t) {
        auto h = at::max_pool2d(torch::relu(at::conv2d(t[0], t[1], {}, 1, 1)), 2);
        return Tensors{h.flatten(1).softmax(1).cumsum(0).square().mean()};
      });
  // Every value as an output, so that running shows it.
  Graph all = std::move(const_cast<Graph&>(c.joint.graph));
  std::vector<std::optional<Value>> outputs;
  for (const auto& node : all.nodes())
    for (size_t i = 0; i < node->outputs.size(); ++i)
      if (node->outputs[i]) outputs.push_back(node->output(static_cast<int>(i)));
  all.set_outputs(outputs);
  Tensors inputs{torch::randn({5, 3, 8, 8}), torch::randn({8, 3, 3, 3}), torch::ones({})};
  const Tensors values = interpret(all, inputs);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(type_of(values[i]), outputs[i]->type()) << outputs[i]->node->op;
}

}  // namespace
}  // namespace aten_bridge
