#include "aten_bridge/trace/refusals.h"

#include <thread>

#include "tests/aten_bridge/trace/replay.h"

namespace aten_bridge {
namespace {

using testing::AllOf;
using testing::HasSubstr;

at::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes).requires_grad_(); }

TEST(Refusal, ReadingAValueOfTheBackwardOnTheHost) {
  struct Reads : torch::autograd::Function<Reads> {
    static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
      return x * 2;
    }
    static Tensors backward(torch::autograd::AutogradContext*, Tensors grads) {
      return {grads[0].sum().item<float>() > 0 ? grads[0] : -grads[0]};
    }
  };
  EXPECT_THAT(
      refusal_of({{"x", leaf({2})}}, [](const Tensors& t) { return Tensors{Reads::apply(t[0])}; }),
      AllOf(HasSubstr("backward"), HasSubstr("on the host")));
}

TEST(Refusal, AnUndeclaredTensorNamesTheOperatorThatMetIt) {
  const at::Tensor captured = torch::randn({2});
  EXPECT_THAT(refusal_of({{"x", torch::randn({2})}},
                         [&](const Tensors& t) { return Tensors{t[0] + captured}; }),
              AllOf(HasSubstr("aten::add.Tensor"), HasSubstr("options.state")));
}

TEST(Refusal, AnUndeclaredTensorThatIsReturned) {
  const at::Tensor captured = torch::randn({2});
  EXPECT_THAT(
      refusal_of({{"x", torch::randn({2})}}, [&](const Tensors&) { return Tensors{captured}; }),
      HasSubstr("returns a tensor"));
}

TEST(Refusal, ChangingATensorThatRequiresGrad) {
  const at::Tensor inner = leaf({2}) * 2;
  EXPECT_ANY_THROW(capture_named({{"x", inner}}, [](const Tensors& t) {
    t[0].mul_(2);
    return Tensors{t[0]};
  }));
}

TEST(Refusal, ResizingAnArgument) {
  for (int64_t size : {2, 20})
    EXPECT_THAT(refusal_of({{"x", torch::randn({6})}},
                           [&](const Tensors& t) {
                             t[0].resize_({size});
                             return Tensors{t[0] * 2};
                           }),
                HasSubstr("shape, strides or storage of 'x'"));
}

TEST(Refusal, AnOptimizerStep) {
  torch::nn::Linear linear(2, 2);
  torch::optim::AdamW optimizer(linear->parameters());
  linear->weight.mutable_grad() = torch::ones({2, 2});
  const at::Tensor grad = linear->weight.grad();
  const auto version = linear->weight._version();
  EXPECT_THAT(refusal_of({{"x", torch::randn({2})}, {"weight", linear->weight}},
                         [&](const Tensors& t) {
                           optimizer.step();
                           return Tensors{t[0]};
                         }),
              AllOf(HasSubstr("weight"), HasSubstr("optimizer")));
  EXPECT_TRUE(linear->weight.grad().is_same(grad));
  EXPECT_EQ(linear->weight._version(), version);
}

TEST(Refusal, AnOptimizersFirstStepLeavesItsStateEmpty) {
  torch::nn::Linear linear(2, 2);
  torch::optim::Adam optimizer(linear->parameters());
  linear->weight.mutable_grad() = torch::ones({2, 2});
  EXPECT_THAT(refusal_of({{"weight", linear->weight}},
                         [&](const Tensors& t) {
                           optimizer.step();
                           return Tensors{t[0] * 1};
                         }),
              HasSubstr("optimizer's first step"));
  EXPECT_TRUE(optimizer.state().empty());
}

TEST(Refusal, BackwardInside) {
  torch::nn::Linear linear(2, 2);
  EXPECT_THAT(
      refusal_of({{"x", torch::randn({3, 2})}, {"weight", linear->weight}, {"bias", linear->bias}},
                 [&](const Tensors& t) {
                   const at::Tensor loss = linear->forward(t[0]).sum();
                   loss.backward();
                   return Tensors{loss};
                 }),
      HasSubstr("backward() inside"));
  EXPECT_FALSE(linear->weight.grad().defined());
}

TEST(Refusal, ZeroGradInside) {
  torch::nn::Linear linear(2, 2);
  linear->weight.mutable_grad() = torch::ones({2, 2});
  EXPECT_THAT(refusal_of({{"weight", linear->weight}},
                         [&](const Tensors& t) {
                           linear->zero_grad();
                           return Tensors{t[0] * 2};
                         }),
              HasSubstr(".grad of 'weight'"));
  EXPECT_TRUE(linear->weight.grad().defined());
}

TEST(Refusal, AnotherGradIsPutBack) {
  const at::Tensor w = leaf({2});
  w.mutable_grad() = torch::ones({2});
  EXPECT_THAT(refusal_of({{"w", w}},
                         [&](const Tensors& t) {
                           w.mutable_grad().reset();
                           return Tensors{t[0] * 2};
                         }),
              HasSubstr(".grad of 'w'"));
  EXPECT_TRUE(w.grad().defined());
}

// Threads that train one model together: one captures while another accumulates.
TEST(Refusal, AGradientOfAnotherThreadIsNone) {
  const at::Tensor w = leaf({2});
  const at::Tensor loss = (w * 3).sum();
  capture_named({{"w", w}}, [&](const Tensors& t) {
    std::thread([&] { loss.backward(); }).join();
    return Tensors{t[0] * 2};
  });
  EXPECT_TRUE(torch::equal(w.grad(), torch::full({2}, 3.0)));
}

TEST(Refusal, DifferentiableValuesWrittenIntoAnInput) {
  EXPECT_THAT(refusal_of({{"x", torch::zeros({2})}, {"w", leaf({2})}},
                         [](const Tensors& t) {
                           t[0].copy_(t[1]);
                           return Tensors{t[0] * 2};
                         }),
              HasSubstr("differentiable values into 'x'"));
}

TEST(Refusal, ChangingAnInputsShapeInPlace) {
  EXPECT_THAT(refusal_of({{"x", torch::zeros({2, 3})}},
                         [](const Tensors& t) {
                           t[0].transpose_(0, 1);
                           return Tensors{t[0] + 1};
                         }),
              HasSubstr("shape, strides or storage of 'x'"));
}

TEST(Refusal, WritingAResultToATensorOfAnotherDtype) {
  const at::Tensor x = torch::randn({3}), out = torch::empty({3}, at::kLong);
  EXPECT_THAT(refusal_of({{"x", x}, {"out", out}},
                         [](const Tensors& t) {
                           at::Tensor to = t[1];
                           return Tensors{at::amax_out(to, t[0], 0, true)};
                         }),
              HasSubstr("aten::amax.out writes to a tensor of another dtype"));
}

TEST(Refusal, ChangingAnInputThatSharesMemoryWithAnother) {
  const at::Tensor x = torch::zeros({2, 3});
  EXPECT_THAT(refusal_of({{"x", x}, {"row", x.select(0, 1)}},
                         [](const Tensors& t) {
                           t[0].add_(1);
                           return Tensors{t[1] * 2};
                         }),
              AllOf(HasSubstr("'x'"), HasSubstr("shares memory with 'row'")));
}

TEST(Refusal, KeepingAComputedTensor) {
  at::Tensor kept;
  EXPECT_THAT(refusal_of({{"x", torch::zeros({2})}},
                         [&](const Tensors& t) {
                           kept = t[0] * 2;
                           return Tensors{kept + 1};
                         }),
              AllOf(HasSubstr("keeps a tensor"), HasSubstr("aten::mul")));
  EXPECT_THROW(kept + 1, c10::Error);
}

TEST(Refusal, SeedingAGenerator) {
  torch::manual_seed(5);
  const at::Tensor expected = torch::rand({3});
  torch::manual_seed(5);
  EXPECT_THAT(refusal_of({{"x", torch::zeros({3})}},
                         [](const Tensors& t) {
                           torch::manual_seed(5);
                           return Tensors{t[0] + torch::rand({3})};
                         }),
              HasSubstr("seeds"));
  EXPECT_TRUE(torch::equal(torch::rand({3}), expected));
}

TEST(Refusal, AGeneratorThatIsGiven) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  EXPECT_THAT(refusal_of({{"x", torch::zeros({3})}},
                         [&](const Tensors& t) { return Tensors{t[0].bernoulli(0.5, generator)}; }),
              HasSubstr("generator"));
}

TEST(Refusal, AKindOfTensorThatNoFakeStandsFor) {
  EXPECT_THAT(refusal_of({{"x", torch::eye(3).to_sparse()}}, [](const Tensors& t) { return t; }),
              AllOf(HasSubstr("'x'"), HasSubstr("not strided")));
}

TEST(Refusal, AnOperatorWithoutRuleIsNamed) {
  EXPECT_THAT(
      refusal_of({{"x", torch::randn({3, 3})}},
                 [](const Tensors& t) { return Tensors{at::_dirichlet_grad(t[0], t[0], t[0])}; }),
      AllOf(HasSubstr("aten::_dirichlet_grad"), HasSubstr("no shape rule")));
}

TEST(Refusal, WhatKernelsAloneCheckRaisesToo) {
  const Named inputs{{"x", torch::randn({3, 3})}, {"v", torch::ones({1})}};
  EXPECT_THROW(capture_named(inputs, [](const Tensors& t) { return Tensors{at::gelu(t[0], "x")}; }),
               c10::Error);
  EXPECT_THROW(
      capture_named(inputs,
                    [](const Tensors& t) { return Tensors{t[0].masked_fill(t[0] > 0, t[1])}; }),
      c10::Error);
}

TEST(Refusal, ExceptionsOfTheCallablePassThrough) {
  struct Own {};
  const at::Tensor x = torch::zeros({2});
  EXPECT_THROW(capture_named({{"x", x}}, [](const Tensors&) -> Tensors { throw Own(); }), Own);
  EXPECT_FALSE(capturing());
  EXPECT_TRUE(torch::equal(x + 1, torch::ones({2})));
}

TEST(Refusal, ReadingDataRaisesLibTorchsOwnError) {
  const auto capture_with = [](auto read) {
    capture_named({{"x", torch::zeros({2})}}, [&](const Tensors& t) {
      read(t[0]);
      read(t[0] + 1);
      return t;
    });
  };
  EXPECT_THROW(capture_with([](const at::Tensor& t) { t.data_ptr<float>()[0] = 1; }), c10::Error);
  EXPECT_THROW(capture_with([](const at::Tensor& t) { static_cast<float*>(t.data_ptr())[0] = 1; }),
               c10::Error);
}

}  // namespace
}  // namespace aten_bridge
