#include "aten_bridge/autograd/compiled_function.h"

#include <atomic>
#include <string>
#include <thread>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

using at::Tensor;
using testing::HasSubstr;

// y = tanh(x w), its argmax, and an intermediate h = x w that is saved beside them. Runners are
// plain ATen.
std::shared_ptr<CompiledFunction> tanh_of_product(const Tensor& x, const Tensor& w) {
  auto fn = std::make_shared<CompiledFunction>();
  fn->primals = 2;
  fn->results = 2;
  fn->differentiable = {true, false};
  fn->tangents = {type_of(at::empty({x.size(0), w.size(1)}, x.options()))};
  fn->tangents_of = {{0}, {0}};
  fn->saved = {{.primal = 0}, {.primal = 1}, {.result = 0}, {.result = 2}};
  fn->forward = [](std::vector<Tensor> in) {
    Tensor h = in[0].mm(in[1]), y = h.tanh();
    return std::vector<Tensor>{y, y.argmax(1), h};
  };
  fn->backward = [](std::vector<Tensor> in) {  // x, w, y, h, tangent
    EXPECT_EQ(in.size(), 5u);
    const Tensor g = in[4].mul(at::rsub(in[2].mul(in[2]), 1));
    return std::vector<Tensor>{g.mm(in[1].t()), in[0].t().mm(g)};
  };
  return fn;
}

struct Operands {
  Tensor x = at::linspace(-1, 1, 12).view({4, 3}).clone().set_requires_grad(true);
  Tensor w = at::linspace(-2, 1, 15).view({3, 5}).clone().set_requires_grad(true);
  std::shared_ptr<CompiledFunction> fn = tanh_of_product(x, w);

  Tensor compiled() const { return run(fn, {x, w})[0]; }
  Tensor eager() const { return x.mm(w).tanh(); }
};

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return "no error";
}

TEST(CompiledFunction, HasEagersValuesAndGradients) {
  Operands ours, eager;
  Tensor y = ours.compiled(), truth = eager.eager();
  EXPECT_TRUE(y.equal(truth));
  const Tensor weight = at::linspace(0, 1, 20).view({4, 5});
  y.mul(weight).sum().backward();
  truth.mul(weight).sum().backward();
  EXPECT_TRUE(ours.x.grad().allclose(eager.x.grad()));
  EXPECT_TRUE(ours.w.grad().allclose(eager.w.grad()));
}

TEST(CompiledFunction, MarksOnlyDifferentiableResults) {
  Operands o;
  const auto results = run(o.fn, {o.x, o.w});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].grad_fn()->name(), "CompiledFunctionBackward");
  EXPECT_FALSE(results[1].requires_grad());
}

TEST(CompiledFunction, FlowsIntoEagerGraphsOnBothSides) {
  Operands ours, eager;
  run(ours.fn, {ours.x.mul(2), ours.w})[0].exp().sum().backward();
  eager.x.mul(2).mm(eager.w).tanh().exp().sum().backward();
  EXPECT_TRUE(ours.x.grad().allclose(eager.x.grad()));
}

TEST(CompiledFunction, HasNoNodeWithoutGradientToCompute) {
  Operands o;
  {
    const c10::AutoGradMode no_grad(false);
    EXPECT_FALSE(o.compiled().requires_grad());
  }
  {
    const c10::InferenceMode inference;
    const Tensor y = o.compiled();
    EXPECT_TRUE(y.is_inference());
    EXPECT_FALSE(y.requires_grad());
  }
  EXPECT_FALSE(run(o.fn, {o.x.detach(), o.w.detach()})[0].requires_grad());
  o.fn->backward = nullptr;
  EXPECT_FALSE(o.compiled().requires_grad());
}

TEST(CompiledFunction, GivesGradientsOnlyToThoseWhoWantThem) {
  Operands o;
  run(o.fn, {o.x.detach(), o.w})[0].sum().backward();
  EXPECT_TRUE(o.w.grad().defined());
  const auto grads = torch::autograd::grad({o.compiled().sum()}, {o.w});
  EXPECT_TRUE(grads[0].allclose(o.w.grad()));
  EXPECT_FALSE(o.x.grad().defined());
}

TEST(CompiledFunction, RaisesEagersErrorOnASecondBackward) {
  Operands ours, eager;
  const Tensor y = ours.compiled().sum(), truth = eager.eager().sum();
  y.backward();
  truth.backward();
  const std::string error = error_of([&] { y.backward(); });
  EXPECT_THAT(error, HasSubstr("Trying to backward through the graph a second time"));
  EXPECT_EQ(error, error_of([&] { truth.backward(); }));
}

TEST(CompiledFunction, RunsBackwardAgainWhenTheGraphIsRetained) {
  Operands o;
  const Tensor y = o.compiled().sum();
  y.backward({}, /*keep_graph=*/true);
  const Tensor once = o.x.grad().clone();
  y.backward();
  EXPECT_TRUE(o.x.grad().allclose(once.mul(2)));
}

TEST(CompiledFunction, AccumulatesOverCalls) {
  Operands o;
  o.compiled().sum().backward();
  const Tensor once = o.w.grad().clone();
  o.compiled().sum().backward();
  o.compiled().sum().backward();
  EXPECT_TRUE(o.w.grad().allclose(once.mul(3)));
}

TEST(CompiledFunction, RunsHooksOnLeavesAndResults) {
  Operands o;
  int leaf = 0, result = 0;
  o.x.register_hook([&](const Tensor& g) {
    ++leaf;
    return g.mul(2);
  });
  const Tensor y = o.compiled();
  y.register_hook([&](const Tensor&) { ++result; });
  y.sum().backward();
  EXPECT_EQ(leaf, 1);
  EXPECT_EQ(result, 1);
  Operands plain;
  plain.compiled().sum().backward();
  EXPECT_TRUE(o.x.grad().allclose(plain.x.grad().mul(2)));
}

// What the tangent of y = 2 x looks like to the backward runner.
Tensor tangent_seen(const Tensor& x, const std::function<void(Tensor y, Tensor z)>& backward) {
  auto fn = std::make_shared<CompiledFunction>();
  Tensor seen;
  fn->primals = 1;
  fn->results = 2;
  fn->differentiable = {true, true};
  fn->tangents = {type_of(x.detach()), type_of(x.detach())};
  fn->tangents_of = {{0, 1}};
  fn->forward = [](std::vector<Tensor> in) {
    return std::vector<Tensor>{in[0].mul(2), in[0].mul(3)};
  };
  fn->backward = [&](std::vector<Tensor> in) {
    seen = in[0];
    return std::vector<Tensor>{in[0].mul(2).add(in[1].mul(3))};
  };
  const auto results = run(fn, {x});
  backward(results[0], results[1]);
  return seen;
}

TEST(CompiledFunction, MakesAnUndefinedTangentZero) {
  const Tensor x = at::ones({2, 3}).set_requires_grad(true);
  const Tensor seen = tangent_seen(x, [](Tensor, Tensor z) { z.sum().backward(); });
  EXPECT_TRUE(seen.equal(at::zeros({2, 3})));
  EXPECT_TRUE(x.grad().equal(at::full({2, 3}, 3.0)));
}

TEST(CompiledFunction, MakesAnExpandedTangentDense) {
  const Tensor x = at::ones({2, 3}).set_requires_grad(true);
  const Tensor seen = tangent_seen(x, [](Tensor y, Tensor) { y.sum().backward(); });
  EXPECT_EQ(seen.strides(), (at::IntArrayRef{3, 1}));
  EXPECT_TRUE(seen.equal(at::ones({2, 3})));
}

TEST(CompiledFunction, GivesATangentTheStridesThatWereCaptured) {
  const Tensor x = at::ones({3, 2}).t().detach().set_requires_grad(true);
  const Tensor gradient = at::arange(6).to(at::kFloat).view({2, 3});
  const Tensor seen = tangent_seen(x, [&](Tensor y, Tensor) { y.backward(gradient); });
  EXPECT_EQ(seen.strides(), x.strides());
  EXPECT_TRUE(seen.equal(gradient));
}

TEST(CompiledFunction, RaisesWhenASavedPrimalWasChanged) {
  Operands o;
  const Tensor y = o.compiled().sum();
  o.w.detach().mul_(2);
  EXPECT_THAT(error_of([&] { y.backward(); }), HasSubstr("modified by an inplace operation"));
}

TEST(CompiledFunction, RaisesWhenASavedResultWasChanged) {
  Operands o;
  const Tensor y = o.compiled();
  const Tensor sum = y.sum();
  y.detach().mul_(2);
  EXPECT_THAT(error_of([&] { sum.backward(); }), HasSubstr("modified by an inplace operation"));
}

TEST(CompiledFunction, LetsTheBackwardFreeWhatItSaved) {
  Operands o;
  std::vector<size_t> owners;
  const auto backward = o.fn->backward;
  o.fn->backward = [&](std::vector<Tensor> in) {
    owners = {in[3].use_count(), in[3].storage().use_count()};
    return backward(std::move(in));
  };
  const Tensor y = o.compiled().sum();
  y.backward({}, /*keep_graph=*/true);
  EXPECT_GT(owners[0], 1u);
  y.backward();
  EXPECT_THAT(owners, testing::Each(1u));
}

TEST(CompiledFunction, FreesWhatItSavedWithTheResult) {
  Operands o;
  c10::weak_intrusive_ptr<c10::StorageImpl> saved(c10::intrusive_ptr<c10::StorageImpl>{});
  const auto forward = o.fn->forward;
  o.fn->forward = [&](std::vector<Tensor> in) {
    auto out = forward(std::move(in));
    saved = out[2].storage().getWeakStorageImpl();
    return out;
  };
  Tensor y = o.compiled();
  EXPECT_FALSE(saved.expired());
  y.reset();
  EXPECT_TRUE(saved.expired());
}

TEST(CompiledFunction, GivesEachResultItsOwnTensor) {
  auto fn = std::make_shared<CompiledFunction>();
  fn->primals = 1;
  fn->results = 2;
  fn->differentiable = {true, true};
  const Tensor x = at::ones({3}).set_requires_grad(true);
  fn->tangents = {type_of(x.detach()), type_of(x.detach())};
  fn->tangents_of = {{0, 1}};
  fn->forward = [](std::vector<Tensor> in) {
    const Tensor y = in[0].mul(2);
    return std::vector<Tensor>{y, y};
  };
  fn->backward = [](std::vector<Tensor> in) {
    return std::vector<Tensor>{in[0].add(in[1]).mul(2)};
  };
  const auto results = run(fn, {x});
  EXPECT_FALSE(results[0].is_same(results[1]));
  results[0].add(results[1].mul(10)).sum().backward();
  EXPECT_TRUE(x.grad().equal(at::full({3}, 22.0)));
}

TEST(CompiledFunction, RunsSeveralBackwardsAtOnce) {
  Operands o;
  std::vector<Tensor> sums, grads(8);
  for (int i = 0; i < 8; ++i) sums.push_back(o.compiled().sum());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { grads[i] = torch::autograd::grad({sums[i]}, {o.x})[0]; });
  for (auto& t : threads) t.join();
  for (const Tensor& g : grads) EXPECT_TRUE(g.equal(grads[0]));
}

// y = x * x, whose derivative depends on x.
std::shared_ptr<CompiledFunction> square(const char* joint) {
  auto fn = std::make_shared<CompiledFunction>();
  fn->primals = 1;
  fn->results = 1;
  fn->differentiable = {true};
  fn->tangents = {type_of(at::empty({3}))};
  fn->tangents_of = {{0}};
  fn->saved = {{.primal = 0}};
  fn->forward = [](std::vector<Tensor> in) { return std::vector<Tensor>{in[0].mul(in[0])}; };
  fn->backward = [](std::vector<Tensor> in) {
    return std::vector<Tensor>{in[1].mul(in[0]).mul(2)};
  };
  if (joint) {
    auto graph = parse_graph(joint);
    TD_CHECK(graph.ok(), graph.status().ToString());
    fn->joint = std::make_shared<Joint>(Joint{*std::move(graph), 1, 1, 1});
  }
  return fn;
}

constexpr char kSquare[] = R"(graph 1 joint(x: f32[3], g: f32[3]) {
  %0: f32[3] = aten::mul.Tensor(x, x)
  %1: f32[3] = aten::mul.Tensor(g, x)
  %2: f32[3] = aten::mul.Scalar(%1, other=2)
  return %0, %2
}
)";

TEST(CompiledFunction, DifferentiatesTwiceThroughTheJointGraph) {
  const auto fn = square(kSquare);
  const Tensor x = at::arange(3).to(at::kFloat).set_requires_grad(true);
  const Tensor y = run(fn, {x})[0].pow(2).sum();  // x^4
  const auto first = torch::autograd::grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true);
  EXPECT_TRUE(first[0].allclose(x.pow(3).mul(4)));
  const auto second = torch::autograd::grad({first[0].sum()}, {x});
  EXPECT_TRUE(second[0].allclose(x.pow(2).mul(12)));
}

// y = a * b + c: backward needs a and b, the joint graph all three.
TEST(CompiledFunction, DifferentiatesTwiceWhereNotEveryPrimalIsSaved) {
  auto graph = parse_graph(R"(graph 1 joint(c: f32[3], a: f32[3], b: f32[3], g: f32[3]) {
  %0: f32[3] = aten::mul.Tensor(a, b)
  %1: f32[3] = aten::add.Tensor(%0, c, alpha=1)
  %2: f32[3] = aten::mul.Tensor(g, b)
  %3: f32[3] = aten::mul.Tensor(g, a)
  return %1, g, %2, %3
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto fn = std::make_shared<CompiledFunction>();
  fn->primals = 3;
  fn->results = 1;
  fn->differentiable = {true};
  fn->tangents = {type_of(at::empty({3}))};
  fn->tangents_of = {{0}, {0}, {0}};
  fn->saved = {{.primal = 2}, {.primal = 1}};
  fn->joint = std::make_shared<Joint>(Joint{*std::move(graph), 3, 1, 1});
  fn->forward = [](std::vector<Tensor> in) {
    return std::vector<Tensor>{in[1].mul(in[2]).add(in[0])};
  };
  fn->backward = [](std::vector<Tensor> in) {  // b, a, tangent
    return std::vector<Tensor>{in[2], in[2].mul(in[0]), in[2].mul(in[1])};
  };
  const Tensor a = at::arange(3).to(at::kFloat).set_requires_grad(true);
  const Tensor b = at::full({3}, 5.0).set_requires_grad(true), c = at::ones({3});
  const Tensor y = run(fn, {c, a, b})[0].sum();
  const auto first = torch::autograd::grad({y}, {a}, {}, std::nullopt, /*create_graph=*/true);
  EXPECT_TRUE(first[0].equal(b));
  const auto second = torch::autograd::grad({first[0].mul(3).sum()}, {b});
  EXPECT_TRUE(second[0].equal(at::full({3}, 3.0)));
}

TEST(CompiledFunction, RefusesToDifferentiateTwiceWithoutAJointGraph) {
  const Tensor x = at::arange(3).to(at::kFloat).set_requires_grad(true);
  const Tensor y = run(square(nullptr), {x})[0].sum();
  EXPECT_THAT(
      error_of([&] { torch::autograd::grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true); }),
      HasSubstr("create_graph=True"));
}

TEST(CompiledFunction, DrawsTheSameNumbersForASecondDerivative) {
  const auto fn = square(R"(graph 1 joint(x: f32[3], g: f32[3]) {
  %0: f32[3] = aten::bernoulli.p(x, p=0.5, generator=none)
  return %0, %0
}
)");
  fn->draws = true;
  fn->forward = [](std::vector<Tensor> in) { return std::vector<Tensor>{in[0].bernoulli(0.5)}; };
  const Tensor x = at::ones({3}).set_requires_grad(true);
  const Tensor y = run(fn, {x})[0];
  at::rand({2});
  const auto state = at::globalContext().defaultGenerator(at::kCPU).get_state();
  const Tensor g =
      torch::autograd::grad({y.sum()}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
  EXPECT_TRUE(g.equal(y));
  EXPECT_TRUE(at::globalContext().defaultGenerator(at::kCPU).get_state().equal(state));
}

}  // namespace
}  // namespace aten_bridge
