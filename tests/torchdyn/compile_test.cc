// The C++ door: arguments and results, guards, recompiles, state, fallbacks.
#include "torchdyn/compile.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace torchdyn {
namespace {

using at::Tensor;

void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.defined(), want.defined());
  if (!want.defined()) return;
  ASSERT_EQ(got.sizes(), want.sizes());
  ASSERT_EQ(got.strides(), want.strides());
  ASSERT_EQ(got.scalar_type(), want.scalar_type());
  EXPECT_TRUE(at::allclose(got, want, 1e-5, 1e-6, /*equal_nan=*/true));
}

// Every call so far was served by compiled code.
template <class F>
void expect_all_compiled(const Compiled<F>& compiled) {
  for (const auto& variant : explain(compiled).variants) EXPECT_EQ(variant.eager_reason, "");
}

TEST(Compile, GivesEagersValuesAndGradients) {
  auto f = [](const Tensor& x, const Tensor& w) { return (x.mm(w).tanh() * 2).sum(); };
  auto compiled = compile(f);
  Tensor x = torch::randn({8, 4}), w = torch::randn({4, 3}).requires_grad_();
  for (int i = 0; i < 2; ++i) {
    Tensor want = f(x, w);
    want.backward();
    Tensor want_grad = w.grad().clone();
    w.mutable_grad().reset();
    Tensor got = compiled(x, w);
    got.backward();
    expect_close(got, want);
    expect_close(w.grad(), want_grad);
    w.mutable_grad().reset();
  }
  expect_all_compiled(compiled);
  EXPECT_EQ(explain(compiled).variants.size(), 1u);
}

// Logits beside a loss: their gradient is compiled for when it comes.
TEST(Compile, GivesEagersGradientsForEachOfALossAndItsLogits) {
  auto f = [](const Tensor& x, const Tensor& w) {
    const Tensor logits = x.mm(w);
    return std::make_pair(logits.logsumexp(1).mean(), logits);
  };
  auto compiled = compile(f);
  Tensor x = torch::randn({8, 4}), w = torch::randn({4, 3}).requires_grad_();
  using Pair = std::pair<Tensor, Tensor>;
  const std::function<Tensor(const Pair&)> uses[] = {
      [](const Pair& p) { return p.first; },
      [](const Pair& p) { return p.first + p.second.square().sum(); },
      [](const Pair& p) { return p.second.square().sum(); },
  };
  for (int round = 0; round < 2; ++round)
    for (const auto& use : uses) {
      use(f(x, w)).backward();
      const Tensor want = w.grad().clone();
      w.mutable_grad().reset();
      use(compiled(x, w)).backward();
      expect_close(w.grad(), want);
      w.mutable_grad().reset();
    }
  expect_all_compiled(compiled);
  const Explanation explanation = explain(compiled);
  ASSERT_EQ(explanation.variants.size(), 1u);
  const std::string& backward = explanation.variants[0].graphs[1].text;
  EXPECT_THAT(backward, testing::HasSubstr("tangent0"));
  EXPECT_THAT(backward, testing::Not(testing::HasSubstr("tangent1")));
}

TEST(Compile, TakesAndGivesAggregates) {
  using Map = std::map<std::string, Tensor>;
  auto f = [](const std::vector<Tensor>& xs, std::optional<Tensor> bias, const Map& named,
              std::tuple<Tensor, double> scaled, int64_t power) {
    Tensor sum = xs[0] + xs[1] * std::get<0>(scaled) * std::get<1>(scaled);
    if (bias) sum = sum + *bias;
    return std::make_pair(Map{{"sum", sum}, {"pow", named.at("a").pow(power)}}, power + 1);
  };
  auto compiled = compile(f);
  Tensor a = torch::randn({5}), b = torch::randn({5});
  auto check = [&](std::optional<Tensor> bias, double scale, int64_t power) {
    auto want = f({a, b}, bias, {{"a", a}}, {b, scale}, power);
    auto got = compiled(std::vector<Tensor>{a, b}, bias, Map{{"a", a}},
                        std::tuple<Tensor, double>{b, scale}, power);
    expect_close(got.first.at("sum"), want.first.at("sum"));
    expect_close(got.first.at("pow"), want.first.at("pow"));
    EXPECT_EQ(got.second, want.second);
  };
  check(a, 2.0, 2);
  check(std::nullopt, 2.0, 2);
  check(a, 3.0, 3);
  check(a, 2.0, 2);
  expect_all_compiled(compiled);
  EXPECT_EQ(explain(compiled).variants.size(), 3u);
}

TEST(Compile, SaysToPassATensorWhenANumberCausesARecompile) {
  auto compiled = compile([](const Tensor& x, double scale) { return x * scale; });
  Tensor x = torch::ones({3});
  compiled(x, 1.0);
  expect_close(compiled(x, 2.0), x * 2);
  ASSERT_EQ(explain(compiled).recompile_reasons.size(), 1u);
  EXPECT_NE(explain(compiled).recompile_reasons[0].find("argument 1"), std::string::npos);
  EXPECT_NE(explain(compiled).recompile_reasons[0].find("0-dimensional tensor"), std::string::npos);
}

TEST(Compile, RunsInEagerBeyondTheRecompileLimit) {
  Options options;
  options.recompile_limit = 2;
  auto compiled = compile([](const Tensor& x) { return x + 1; }, options);
  const auto call = [&](int n) { expect_close(compiled(torch::ones({n})), torch::ones({n}) + 1); };
  for (int n = 1; n < 3; ++n) call(n);
  EXPECT_TRUE(explain(compiled).refusals.empty());
  for (int n = 3; n < 6; ++n) call(n);
  EXPECT_EQ(explain(compiled).variants.size(), 2u);
  ASSERT_EQ(explain(compiled).refusals.size(), 1u);
  EXPECT_NE(explain(compiled).refusals[0].find("recompile_limit (2) reached"), std::string::npos);
}

TEST(Compile, FindsAModulesTensorsAnewOnEveryCall) {
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::GELU(), torch::nn::Linear(8, 2));
  auto compiled = compile(net);
  Tensor x = torch::randn({3, 4});
  expect_close(compiled(x), net->forward(x));
  {
    torch::NoGradGuard no_grad;
    for (auto& p : net->parameters()) p.mul_(2);
  }
  expect_close(compiled(x), net->forward(x));
  net->to(torch::kFloat64);
  expect_close(compiled(x.to(torch::kFloat64)), net->forward(x.to(torch::kFloat64)));
  expect_all_compiled(compiled);
}

TEST(Compile, GuardsTheTrainingFlag) {
  torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::Dropout(0.5));
  auto compiled = compile(net);
  Tensor x = torch::randn({64, 4});
  auto seeded = [&](auto&& f) {
    torch::manual_seed(7);
    return f(x);
  };
  auto eager = [&](const Tensor& t) { return net->forward(t); };
  expect_close(seeded(compiled), seeded(eager));
  net->eval();
  expect_close(seeded(compiled), seeded(eager));
  net->train();
  expect_close(seeded(compiled), seeded(eager));
  expect_all_compiled(compiled);
  EXPECT_EQ(explain(compiled).variants.size(), 2u);
}

TEST(Compile, TellsModulesApart) {
  auto f = [](torch::nn::Dropout& d, const Tensor& x) { return d->forward(x); };
  auto compiled = compile(f);
  Tensor x = torch::ones({1000});
  for (double p : {0.0, 1.0}) {
    torch::nn::Dropout dropout(p);
    expect_close(compiled(dropout, x), f(dropout, x));
  }
}

TEST(Compile, TakesAClosuresTensorsFromItsDeclaredState) {
  Tensor w = torch::randn({4}).requires_grad_();
  auto f = [w](const Tensor& x) { return (x * w).sum(); };
  Options options;
  options.state = {w};
  auto compiled = compile(f, options);
  Tensor x = torch::randn({4});
  compiled(x).backward();
  expect_close(w.grad(), x);
  expect_all_compiled(compiled);
}

TEST(Compile, RunsInEagerAndNamesTheOperatorThatMetAnUndeclaredTensor) {
  Tensor w = torch::randn({4});
  auto f = [w](const Tensor& x) { return x * w; };
  auto compiled = compile(f);
  Tensor x = torch::randn({4});
  expect_close(compiled(x), f(x));
  const auto variants = explain(compiled).variants;
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_NE(variants[0].eager_reason.find("aten::mul"), std::string::npos);
  EXPECT_NE(variants[0].eager_reason.find("options.state"), std::string::npos);
}

TEST(Compile, RaisesUnderFullgraph) {
  Tensor w = torch::randn({4});
  Options options;
  options.fullgraph = true;
  auto compiled = compile([w](const Tensor& x) { return x * w; }, options);
  EXPECT_THROW(compiled(torch::randn({4})), CaptureFailure);
}

TEST(Options, AreSetByNameAndListTheValidNames) {
  Options options;
  options.set("recompile_limit", "3");
  EXPECT_EQ(options.recompile_limit, 3);
  try {
    options.set("fullgraphs", "true");
    FAIL() << "an unknown option was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("recompile_limit"), std::string::npos);
  }
}

TEST(Compile, PassesOnTheProgramsOwnException) {
  bool fail = true;
  auto f = [&fail](const Tensor& x) {
    Tensor y = x + 1;
    if (fail) throw std::runtime_error("mine");
    return y;
  };
  auto compiled = compile(f);
  Tensor x = torch::ones({2});
  EXPECT_THROW(compiled(x), std::runtime_error);
  EXPECT_TRUE(explain(compiled).variants.empty());
  fail = false;
  expect_close(compiled(x), x + 1);
  expect_all_compiled(compiled);
}

TEST(Compile, RaisesWhereEagerRaises) {
  auto compiled = compile([](const Tensor& x, const Tensor& y) { return x.mm(y); });
  EXPECT_THROW(compiled(torch::ones({2, 3}), torch::ones({2, 3})), c10::Error);
}

TEST(Compile, WritesMutatedInputsBack) {
  auto f = [](Tensor x, const Tensor& w) {
    Tensor y = x.clone() * w;
    x.narrow(0, 0, 2).add_(1);
    return (y + x * w).sum();
  };
  auto compiled = compile(f);
  Tensor w = torch::randn({4}).requires_grad_();
  Tensor a = torch::arange(4.), b = torch::arange(4.);
  expect_close(compiled(a, w), f(b, w));
  expect_close(a, b);
  expect_all_compiled(compiled);
}

TEST(Compile, LeavesAnErrorInBackwardToEager) {
  auto f = [](Tensor x, const Tensor& w) {
    Tensor y = x * w;  // backward needs x, which changes
    x.add_(1);
    return y.sum();
  };
  auto compiled = compile(f);
  Tensor w = torch::randn({4}).requires_grad_(), x = torch::ones({4});
  for (int i = 0; i < 2; ++i) EXPECT_THROW(compiled(x, w).backward(), c10::Error);
  ASSERT_EQ(explain(compiled).variants.size(), 1u);
  EXPECT_NE(explain(compiled).variants[0].eager_reason.find("inplace operation"),
            std::string::npos);
}

TEST(Compile, SavesTheOldValueOfAMutatedInput) {
  auto f = [](Tensor x, const Tensor& w) {
    x.add_(1);
    return (x * w).sum();
  };
  auto compiled = compile(f);
  Tensor w = torch::randn({4}).requires_grad_();
  Tensor x = torch::arange(4.);
  compiled(x, w).backward();
  expect_close(x, torch::arange(4.) + 1);
  expect_close(w.grad(), x);
  expect_all_compiled(compiled);
}

// What eager saved is the product behind the view; so may be what the partition saves.
TEST(Compile, SeesThatAResultWhichBackwardNeedsWasChangedInPlace) {
  auto f = [](const Tensor& x, const Tensor& w) {
    Tensor h = x.mm(w);
    return std::make_pair(h.view({-1}), h.square().sum());
  };
  auto compiled = compile(f);
  Tensor x = torch::randn({4, 4}), w = torch::randn({4, 4}).requires_grad_();
  auto change_then_backward = [&](auto&& function) {
    auto [view, loss] = function(x, w);
    {
      torch::NoGradGuard no_grad;
      view.mul_(2);
    }
    loss.backward();
  };
  EXPECT_THROW(change_then_backward(f), c10::Error);
  EXPECT_THROW(change_then_backward(compiled), c10::Error);
  expect_all_compiled(compiled);
}

TEST(Compile, CapturesAnewWhenAMutatedInputSharesMemory) {
  auto f = [](Tensor a, const Tensor& b) {
    a.add_(1);
    return b * 2;
  };
  auto compiled = compile(f);
  auto run = [](auto&& function, bool shared) {
    Tensor a = torch::arange(4.), b = shared ? a.view({2, 2}) : torch::arange(4.).view({2, 2});
    return function(a, b);
  };
  for (bool shared : {false, true, false}) expect_close(run(compiled, shared), run(f, shared));
}

TEST(Compile, GivesBackInputsAndTheirViewsAsEagerDoes) {
  auto f = [](Tensor x) { return std::make_tuple(x, x.view({2, 2}).t(), x + 1); };
  auto compiled = compile(f);
  Tensor x = torch::randn({4});
  auto [same, view, fresh] = compiled(x);
  EXPECT_TRUE(same.is_same(x));
  EXPECT_TRUE(view.is_alias_of(x));
  EXPECT_FALSE(fresh.is_alias_of(x));
  expect_close(view, x.view({2, 2}).t());
  expect_all_compiled(compiled);
}

TEST(Compile, RunsOptimizerStepsInEager) {
  torch::nn::Linear net(3, 1);
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.1));
  auto step = compile([&adam](torch::nn::Linear& m, const Tensor& x) {
    adam.zero_grad();
    Tensor loss = m->forward(x).square().sum();
    loss.backward();
    adam.step();
    return loss.detach();
  });
  Tensor x = torch::randn({5, 3});
  const float first = step(net, x).item<float>();
  for (int i = 0; i < 10; ++i) step(net, x);
  EXPECT_LT(step(net, x).item<float>(), first);
  for (const auto& variant : explain(step).variants) EXPECT_NE(variant.eager_reason, "");
}

TEST(Compile, TrainsABatchNormAndReadsItsStatistics) {
  auto f = [](torch::nn::BatchNorm2d bn, Tensor x) { return bn(x) + 1; };
  auto compiled = compile(f);
  torch::nn::BatchNorm2d a(torch::nn::BatchNorm2dOptions(2).momentum(0.3)), b(a->options);
  const Tensor x = torch::arange(48.).view({3, 2, 2, 4}).sin();
  const auto expect_alike = [&](const Tensor& input) {
    EXPECT_TRUE(torch::allclose(compiled(a, input), f(b, input), 1e-5, 1e-5));
    EXPECT_TRUE(torch::allclose(a->running_mean, b->running_mean));
    EXPECT_TRUE(torch::allclose(a->running_var, b->running_var));
    EXPECT_TRUE(torch::equal(a->num_batches_tracked, b->num_batches_tracked));
  };
  for (int i = 1; i <= 3; ++i) expect_alike(x * i);
  a->eval();
  b->eval();
  expect_alike(x);
  const Tensor held = compiled(a, x);                         // a graph that saved the statistics
  for (auto bn : {a, b}) bn->running_mean = torch::zeros(2);  // eager reads the member
  expect_alike(x);
}

TEST(Compile, AnIndexOutOfRangeRaisesAsInEager) {
  auto f = [](const Tensor& table, const Tensor& ids) { return torch::embedding(table, ids) + 1; };
  auto compiled = compile(f);
  const Tensor table = torch::randn({4, 3}), ids = torch::tensor({1, 3});
  EXPECT_TRUE(torch::equal(compiled(table, ids), f(table, ids)));
  for (int64_t wrong : {4, -1})
    EXPECT_THROW(compiled(table, torch::tensor({int64_t{1}, wrong})), c10::IndexError);
  EXPECT_TRUE(torch::equal(compiled(table, ids), f(table, ids)));
  EXPECT_EQ(explain(compiled).variants.size(), 1u);
}

TEST(Compile, AnIndexOutOfRangeOnTheFirstCallRaisesAsInEager) {
  auto f = [](const Tensor& x, const Tensor& index) { return x.gather(1, index).sigmoid(); };
  auto compiled = compile(f);
  const Tensor x = torch::randn({2, 3});
  const auto index = [](int64_t i) { return torch::full({2, 2}, i, torch::kLong); };
  EXPECT_THROW(compiled(x, index(3)), std::exception);
  EXPECT_TRUE(torch::equal(compiled(x, index(2)), f(x, index(2))));
}

TEST(Compile, OneHotServesAllClassesAndRaisesOutsideOfThem) {
  auto f = [](const Tensor& classes) { return torch::one_hot(classes, 3) * 2; };
  auto compiled = compile(f);
  for (const auto& classes : {torch::tensor({0, 2}), torch::tensor({1, 1}), torch::tensor({2, 0})})
    EXPECT_TRUE(torch::equal(compiled(classes), f(classes)));
  for (int64_t wrong : {3, -1}) EXPECT_THROW(compiled(torch::tensor({0L, wrong})), c10::Error);
  EXPECT_EQ(explain(compiled).variants.size(), 1u);
}

TEST(Compile, AnIgnoredClassIsInside) {
  auto f = [](const Tensor& x, const Tensor& target) {
    return torch::nn::functional::cross_entropy(x, target);
  };
  auto compiled = compile(f);
  const Tensor x = torch::randn({4, 5});
  for (const auto& target : {torch::tensor({0, 4, -100, 2}), torch::tensor({-100, 4, 3, 2})})
    EXPECT_TRUE(torch::allclose(compiled(x, target), f(x, target)));
  EXPECT_THROW(compiled(x, torch::tensor({0, 5, 1, 2})), c10::IndexError);
  EXPECT_EQ(explain(compiled).variants.size(), 1u);
}

TEST(Compile, AClassThatOneLossIgnoresIsOutsideOfAnothers) {
  auto f = [](const Tensor& x, const Tensor& target) {
    return torch::nll_loss(x, target) +
           torch::nll_loss(x, target, /*weight=*/{}, at::Reduction::Mean, /*ignore_index=*/-1);
  };
  auto compiled = compile(f);
  const Tensor x = torch::randn({3, 5});
  EXPECT_TRUE(
      torch::allclose(compiled(x, torch::tensor({0, 4, 2})), f(x, torch::tensor({0, 4, 2}))));
  EXPECT_THROW(compiled(x, torch::tensor({0, -100, 2})), c10::IndexError);
}

TEST(Compile, TheGradientOfAnExpandedViewIsOneSum) {
  auto f = [](const Tensor& x) { return x.expand({2049}); };
  auto compiled = compile(f);
  const Tensor ones = torch::ones({2049}, torch::kHalf);  // one by one they end at 2048
  const auto gradient = [&](const auto& callable) {
    const Tensor x = torch::zeros({1}, torch::kHalf).requires_grad_();
    callable(x).backward(ones * 2);
    return x.grad();
  };
  EXPECT_TRUE(torch::equal(gradient(compiled), gradient(f)));
  expect_all_compiled(compiled);
}

// As calls of other threads hold them while a variant is made.
TEST(Compile, HandlesThatGoAwayDoNotCountAsRecompiles) {
  torch::nn::Linear net(3, 2);
  Options options;
  options.recompile_limit = 2;
  auto compiled =
      compile([](torch::nn::Linear n, const Tensor& x) { return n->forward(x).tanh(); }, options);
  std::vector<Tensor> handles(4, net->weight);
  for (; !handles.empty(); handles.pop_back()) compiled(net, torch::ones({4, 3}));
  EXPECT_EQ(explain(compiled).variants.size(), 4u);
  expect_all_compiled(compiled);
}

TEST(Compile, ServesManyThreads) {
  torch::nn::Sequential net(torch::nn::Linear(5, 9), torch::nn::Tanh(), torch::nn::Linear(9, 2));
  auto f = [](torch::nn::Sequential n, Tensor x) { return n->forward(x).softmax(1); };
  auto compiled = compile(f);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 10; ++i) {
        Tensor x = torch::linspace(-k, k + i + 1, 5 * (1 + i % 4 + k)).view({-1, 5});
        torch::AutoGradMode grad(k % 2 == 0);
        Tensor got = compiled(net, x), want = f(net, x);
        wrong +=
            !torch::allclose(got, want, 1e-5, 1e-6) || got.requires_grad() != want.requires_grad();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Where there was none at capture, there was nothing to reset.
TEST(Compile, AGradientThatTheFunctionResetsIsReset) {
  const auto loss = [](torch::nn::Linear& layer, const Tensor& x) {
    layer->zero_grad();
    return layer(x).sum();
  };
  const auto compiled = compile(loss);
  torch::nn::Linear layer(3, 2);
  const Tensor x = torch::ones({4, 3});
  for (int i = 0; i < 3; ++i) {
    compiled(layer, x).backward();
    EXPECT_TRUE(torch::equal(layer->weight.grad(), torch::full({2, 3}, 4.0)));
  }
  EXPECT_THAT(explain(compiled).recompile_reasons.at(0),
              ::testing::HasSubstr("gradient is defined"));
}

// What stands in for an argument in a capture has no gradient.
TEST(Compile, AFunctionThatLooksAtAnArgumentsGradientRunsInEager) {
  const auto reset = [](const Tensor& w, const Tensor& x) {
    w.mutable_grad() = Tensor();
    return (w * x).sum();
  };
  const auto once = [](const Tensor& w, const Tensor& x) {
    return w.grad().defined() ? (w * x).sum() * 0 : (w * x).sum();
  };
  const auto check = [](const auto& function) {
    for (const bool has_gradient : {false, true}) {
      const auto compiled = compile(function);
      const Tensor x = torch::ones({3});
      Tensor want = torch::ones({3}).requires_grad_(), got = torch::ones({3}).requires_grad_();
      if (has_gradient) want.mutable_grad() = torch::ones({3});
      if (has_gradient) got.mutable_grad() = torch::ones({3});
      for (int i = 0; i < 3; ++i) {
        function(want, x).backward();
        compiled(got, x).backward();
        EXPECT_TRUE(torch::equal(got.grad(), want.grad()));
      }
      EXPECT_THAT(explain(compiled).variants.at(0).eager_reason,
                  ::testing::HasSubstr("looks at the .grad of 'arg0'"));
    }
  };
  check(reset);
  check(once);
}

// A second capture; what was compiled is found.
TEST(Compile, GradientsThatAccumulateAreTwoVariants) {
  const auto compiled =
      compile([](torch::nn::Linear& layer, const Tensor& x) { return layer(x).sum(); });
  torch::nn::Linear layer(3, 2);
  const Tensor x = torch::ones({4, 3});
  for (int i = 1; i < 5; ++i) {
    compiled(layer, x).backward();
    EXPECT_TRUE(torch::equal(layer->weight.grad(), torch::full({2, 3}, 4.0 * i)));
  }
  const Explanation explanation = explain(compiled);
  EXPECT_EQ(explanation.variants.size(), 2u);
  for (const auto& variant : explanation.variants) EXPECT_EQ(variant.eager_reason, "");
}

}  // namespace
}  // namespace torchdyn
