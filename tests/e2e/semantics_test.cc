// What a program sees of a compiled function besides numbers: aliases, layouts, gradients'
// presence, random streams, hooks, errors.
#include <ATen/autocast_mode.h>

#include "tests/e2e/scenario.h"

namespace torchdyn {
namespace {

// Calls it when the leaf's gradient was added to.
void on_accumulated(const Tensor& leaf, std::function<void(const Tensor&)> call) {
  struct Hook : torch::autograd::PostAccumulateGradHook {
    void operator()(const torch::autograd::Variable& tensor) override { call(tensor); }
    std::function<void(const Tensor&)> call;
  };
  auto hook = std::make_unique<Hook>();
  hook->call = std::move(call);
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, std::move(hook));
}

void add_mutations(std::vector<Scenario>& all) {
  all.push_back(scenario("AnInputIsChanged", [](auto compile) {
    auto f = compile([](Tensor x) { return x.mul_(2).add_(1).sin(); });
    Tensor x = normal({3, 4}), first = f(x), second = f(x);
    return Tensors{x, first, second, flag(x._version() > 0)};
  }));
  all.push_back(scenario("AViewOfAnInputIsChanged", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      x.select(1, 0).zero_();
      return x.sum(0);
    });
    const Tensor x = normal({3, 4}), y = f(x);
    return Tensors{x, y, f(x)};
  }));
  all.push_back(scenario("AnIntermediateIsChangedThroughAView", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      Tensor y = x * 2;
      y.t()[1] += 5;
      y.narrow(1, 0, 2).mul_(x.narrow(1, 1, 2));
      return y;
    });
    const Tensor x = leaf({3, 4}), y = f(x);
    y.sum().backward();
    return Tensors{y, x.grad(), f(x)};
  }));
  all.push_back(scenario("AViewIsChangedThroughItsBase", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      Tensor y = x.clone();
      const Tensor row = y[1];
      y.mul_(3);
      return row + 1;
    });
    const Tensor x = leaf({3, 4}), y = f(x);
    y.sum().backward();
    return Tensors{y, x.grad()};
  }));
  all.push_back(scenario("ABufferIsChanged", [](auto compile) {
    nn::BatchNorm1d norm(4);
    norm->to(test_device());
    auto f = compile([](nn::BatchNorm1d& n, const Tensor& x) { return n(x); });
    const Tensor x = normal({6, 4});
    Tensors seen{f(norm, x), f(norm, x * 2)};
    norm->eval();
    seen.push_back(f(norm, x));
    for (const Tensor& b : norm->buffers()) seen.push_back(b);
    return seen;
  }));
  all.push_back(scenario("TwoArgumentsAreOne", [](auto compile) {
    auto f = compile([](Tensor x, const Tensor& y) {
      x.add_(1);
      return x * y;
    });
    Tensor x = normal({4}), z = normal({4});
    Tensors seen{f(x, z), f(x, x), f(z, x)};
    seen.insert(seen.end(), {x, z});
    return seen;
  }));
  all.push_back(scenario("ArgumentsOverlap", [](auto compile) {
    auto f = compile([](Tensor x, const Tensor& y) {
      x.add_(1);
      return x * y;
    });
    const Tensor base = normal({6});
    const Tensor y = f(base.narrow(0, 0, 4), base.narrow(0, 2, 4));
    return Tensors{y, base};
  }));
  all.back().eager_reason = "in place, which shares memory with";
}

void add_aliases(std::vector<Scenario>& all) {
  all.push_back(scenario("AnInputIsReturned", [](auto compile) {
    auto f = compile([](const Tensor& x, const Tensor& y) { return Tensors{x, x + y, y}; });
    const Tensor x = leaf({3}), y = normal({3});
    const Tensors z = f(x, y);
    return Tensors{z[0], z[1], share_memory(z[0], x), share_memory(z[2], y),
                   flag(z[0].unsafeGetTensorImpl() == x.unsafeGetTensorImpl())};
  }));
  all.push_back(scenario("AViewOfAnInputIsReturned", [](auto compile) {
    auto f = compile([](const Tensor& x) { return Tensors{x.t().narrow(0, 1, 2), x.exp()}; });
    const Tensor x = leaf({3, 4});
    const Tensors y = f(x);
    (y[0].sum() * 2 + y[1].sum()).backward();
    return Tensors{y[0],
                   y[1],
                   x.grad(),
                   share_memory(y[0], x),
                   torch::full({}, y[0].storage_offset()),
                   flag(y[0].is_view())};
  }));
  all.push_back(scenario("AReturnedViewIsWritten", [](auto compile) {
    auto f = compile([](const Tensor& x) { return x.view({-1}); });
    const Tensor x = normal({3, 4});
    Tensor y = f(x);
    y.zero_();
    return Tensors{x, y, f(x)};
  }));
  all.push_back(scenario("ResultsShareMemory", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      const Tensor y = x * 2;
      return Tensors{y, y.t(), y[0], y.detach()};
    });
    const Tensor x = leaf({3, 4});
    const Tensors y = f(x);
    (y[0].sum() + y[1].square().sum() + y[2].sum()).backward();
    Tensors seen{x.grad()};
    for (const Tensor& z : y) seen.insert(seen.end(), {z, share_memory(z, y[0])});
    return seen;
  }));
  all.push_back(scenario("AResultIsReturnedTwice", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      const Tensor y = x.tanh();
      return Tensors{y, y};
    });
    const Tensor x = leaf({3});
    const Tensors y = f(x);
    (y[0] * 2 + y[1]).sum().backward();
    return Tensors{y[0], y[1], x.grad(), share_memory(y[0], y[1])};
  }));
}

void add_layouts(std::vector<Scenario>& all) {
  const auto layouts = [](auto compile, auto function, const Tensors& inputs) {
    auto f = compile(function);
    Tensors seen;
    for (const Tensor& input : inputs) {
      const Tensor x = input.detach().requires_grad_();
      const Tensor y = f(x);
      y.sum().backward();
      seen.insert(seen.end(), {y, x.grad()});
    }
    return seen;
  };
  all.push_back(scenario("StridedInputs", [layouts](auto compile) {
    return layouts(compile, [](const Tensor& x) { return x.sigmoid() * 3; },
                   {normal({4, 6}), normal({6, 4}).t(), normal({8, 12}).slice(0, 0, 8, 2),
                    normal({4, 1}).expand({4, 6}), normal({2, 3, 4}).permute({2, 0, 1})});
  }));
  all.push_back(scenario("ChannelsLastThroughAConvolution", [layouts](auto compile) {
    nn::Conv2d conv(nn::Conv2dOptions(3, 8, 3).padding(1));
    conv->to(test_device());
    const Tensor x = normal({2, 3, 8, 8});
    Options options;
    options.state = {conv};
    auto f = compile([conv](const Tensor& y) mutable { return conv(y).relu(); }, options);
    Tensors seen;
    for (const Tensor& input : {x, x.contiguous(at::MemoryFormat::ChannelsLast)}) {
      const Tensor y = f(input);
      y.sum().backward();
      seen.push_back(y);
    }
    for (const Tensor& p : conv->parameters()) seen.push_back(p.grad());
    return seen;
  }));
  all.push_back(scenario("ReductionsOfStridedInputs", [layouts](auto compile) {
    return layouts(compile, [](const Tensor& x) { return x.softmax(-1) + x.mean({0}, true); },
                   {normal({6, 4}).t(), normal({4, 1}).expand({4, 6})});
  }));
  all.push_back(scenario("EmptyAndZeroDimensional", [layouts](auto compile) {
    return layouts(compile, [](const Tensor& x) { return x.exp() + x.sum(); },
                   {normal({0, 4}), normal({}), normal({1}), normal({3, 0})});
  }));
}

void add_random(std::vector<Scenario>& all) {
  all.push_back(scenario("DropoutDrawsEagersNumbers", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      return torch::dropout(x, 0.4, true) + torch::rand_like(x) * torch::dropout(x, 0.2, true);
    });
    torch::manual_seed(3);
    const Tensor x = leaf({5, 7});
    Tensors seen;
    for (int i = 0; i < 3; ++i) {
      const Tensor y = f(x);
      y.sum().backward();
      seen.insert(seen.end(), {y, torch::rand({2}).to(test_device())});
    }
    seen.push_back(x.grad());
    return seen;
  }));
}

void add_modes(std::vector<Scenario>& all) {
  all.push_back(scenario("GradModes", [](auto compile) {
    auto f = compile([](const Tensor& x) { return x.sin() * 2; });
    const Tensor x = leaf({4});
    Tensors seen{f(x)};
    {
      torch::NoGradGuard no_grad;
      seen.push_back(f(x));
    }
    {
      c10::InferenceMode inference;
      const Tensor y = f(x);
      seen.insert(seen.end(), {flag(y.is_inference()), flag(y.requires_grad())});
    }
    seen.push_back(f(x));
    return seen;
  }));
  all.push_back(scenario("NoGradInside", [](auto compile) {
    auto f = compile([](const Tensor& x, const Tensor& y) {
      Tensor scale;
      {
        torch::NoGradGuard no_grad;
        scale = (x * y).abs().sum();
      }
      return Tensors{x * scale + y, scale};
    });
    const Tensor x = leaf({4}), y = leaf({4});
    const Tensors z = f(x, y);
    z[0].sum().backward();
    return Tensors{z[0], z[1], x.grad(), y.grad()};
  }));
  all.push_back(scenario("AutocastAroundAndInside", [](auto compile) {
    const auto on = [] {
      at::autocast::set_autocast_enabled(test_device().type(), true);
      at::autocast::set_autocast_dtype(test_device().type(), at::kBFloat16);
    };
    const auto off = [] {
      at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(test_device().type(), false);
    };
    auto f = compile([](const Tensor& x, const Tensor& w) { return x.mm(w).softmax(1); });
    const Tensor x = leaf({4, 8}), w = leaf({8, 3});
    on();
    const Tensor y = f(x, w);
    off();
    y.sum().backward();
    return Tensors{flag(y.dtype() == torch::kFloat32), flag(x.grad().defined()), f(x, w)};
  }));
}

void add_gradients(std::vector<Scenario>& all) {
  const auto product = [](const Tensor& x, const Tensor& y) {
    return Tensors{(x * y).tanh(), x.exp(), (y > 0).to(torch::kInt64), y.detach() * 2};
  };
  all.push_back(scenario("SomeInputsRequireGrad", [product](auto compile) {
    auto f = compile(product);
    const Tensor x = leaf({4}), y = normal({4});
    const Tensors z = f(x, y);
    z[0].sum().backward();
    Tensors seen = z;
    seen.insert(seen.end(), {x.grad(), flag(y.grad().defined())});
    return seen;
  }));
  all.push_back(scenario("OneResultIsNotUsed", [product](auto compile) {
    auto f = compile(product);
    const Tensor x = leaf({4}), y = leaf({4});
    f(x, y)[1].sum().backward();
    return Tensors{x.grad(), flag(y.grad().defined())};
  }));
  all.push_back(scenario("GradientsAccumulate", [product](auto compile) {
    auto f = compile(product);
    const Tensor x = leaf({4}), y = leaf({4});
    for (int i = 0; i < 3; ++i) {
      const Tensors z = f(x, y);
      (z[0] + z[1]).sum().backward();
    }
    return Tensors{x.grad(), y.grad()};
  }));
  all.push_back(scenario("TheGraphIsRetained", [product](auto compile) {
    auto f = compile(product);
    const Tensor x = leaf({4}), y = leaf({4});
    const Tensor sum = f(x, y)[0].sum();
    sum.backward({}, /*retain_graph=*/true);
    sum.backward();
    return Tensors{x.grad(), y.grad(), raises([&] { sum.backward(); })};
  }));
  all.push_back(scenario("HooksOfLeavesAndResults", [product](auto compile) {
    auto f = compile(product);
    const Tensor x = leaf({4}), y = leaf({4});
    Tensor seen_by_hook;
    x.register_hook([](const Tensor& grad) { return grad * 10; });
    const Tensors z = f(x, y);
    z[0].register_hook([&](const Tensor& grad) { seen_by_hook = grad; });
    (z[0] * 3).sum().backward();
    return Tensors{x.grad(), y.grad(), seen_by_hook};
  }));
  all.push_back(scenario("AHookOnAnAccumulatedGradient", [](auto compile) {
    auto f = compile([](const Tensor& w, const Tensor& x) { return (w * x).sin() * 2; });
    const Tensor w = leaf({4}), x = normal({4});
    Tensors seen;
    on_accumulated(w, [&](const Tensor& t) { seen.push_back(f(t, x)); });
    for (int step = 0; step < 2; ++step) (w * w).sum().backward();
    seen.push_back(w.grad());
    return seen;
  }));
  all.push_back(scenario("DoubleBackward", [](auto compile) {
    auto f = compile([](const Tensor& x, const Tensor& w) { return (x.mm(w)).tanh().sum(); });
    const Tensor x = leaf({3, 4}), w = leaf({4, 2});
    const Tensor grad = torch::autograd::grad({f(x, w)}, {x}, {}, {}, /*create_graph=*/true)[0];
    grad.square().sum().backward();
    return Tensors{grad, x.grad(), w.grad()};
  }));
  all.push_back(scenario("InputsOfTheBackwardWereChanged", [](auto compile) {
    auto f = compile([](const Tensor& x, const Tensor& y) { return (x * y).sum(); });
    const Tensor x = leaf({3}), y = normal({3});
    const Tensor sum = f(x, y);
    y.add_(1);
    return Tensors{raises([&] { sum.backward(); })};
  }));
  all.push_back(scenario("AResultIsChangedInPlace", [](auto compile) {
    auto f = compile([](const Tensor& x) { return x * 2; });
    const Tensor x = leaf({3});
    Tensor y = f(x);
    y.add_(1).mul_(3);
    y.sum().backward();
    return Tensors{y, x.grad()};
  }));
  all.push_back(scenario("AChainOfCompiledFunctions", [](auto compile) {
    auto f = compile([](const Tensor& x) { return x.sin(); });
    auto g = compile([](const Tensor& x) { return x.cos() * x; });
    const Tensor x = leaf({5});
    g(f(g(x)) + x).sum().backward();
    return Tensors{x.grad()};
  }));
}

void add_errors(std::vector<Scenario>& all) {
  all.push_back(scenario("ShapesThatDoNotFit", [](auto compile) {
    auto f = compile([](const Tensor& x, const Tensor& y) { return x.mm(y); });
    const Tensor x = normal({2, 3});
    return Tensors{raises([&] { f(x, x); }), f(x, x.t()), raises([&] { f(x, x); })};
  }));
  all.push_back(scenario("ABackwardOfSomethingWithoutGradient", [](auto compile) {
    auto f = compile([](const Tensor& x) { return (x > 0).sum(); });
    const Tensor x = leaf({3});
    return Tensors{raises([&] { f(x).backward(); }), f(x)};
  }));
  all.push_back(scenario("ALeafThatRequiresGradIsChanged", [](auto compile) {
    auto f = compile([](Tensor x) { return x.add_(1); });
    Tensor x = leaf({3});
    return Tensors{raises([&] { f(x); }), x};
  }));
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  add_mutations(all);
  add_aliases(all);
  add_layouts(all);
  add_random(all);
  add_modes(all);
  add_gradients(all);
  add_errors(all);
  return all;
}

class SemanticsOfTheDoor : public ::testing::TestWithParam<Scenario> {};

TEST_P(SemanticsOfTheDoor, AreEagers) { expect_the_same_seen(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, SemanticsOfTheDoor, ::testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace torchdyn
