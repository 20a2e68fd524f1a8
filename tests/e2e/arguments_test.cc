// What a compiled function may be given, and what may happen to that between its calls.
#include <map>
#include <optional>

#include <ATen/CPUGeneratorImpl.h>

#include "tests/e2e/scenario.h"

// A user's own aggregate: its parts, in a fixed order.
namespace example {
struct Batch {
  torch::Tensor words;
  std::vector<torch::Tensor> features;
  std::string split;
  double scale = 1;
};
}  // namespace example

template <>
struct torchdyn::Arguments<example::Batch> {
  template <class T, class Visitor>
  static void visit(T& batch, Visitor& visitor) {
    visit_argument(batch.words, visitor);
    visit_argument(batch.features, visitor);
    visit_argument(batch.split, visitor);
    visit_argument(batch.scale, visitor);
  }
};

namespace torchdyn {
namespace {

Tensor zeros_like_or(const Tensor& grad) { return grad.defined() ? grad : torch::zeros({}); }

void add_arguments(std::vector<Scenario>& all) {
  all.push_back(scenario("AnAggregateOfTheUsersOwn", [](auto compile) {
    auto f = compile([](const example::Batch& batch) {
      const Tensor sum = batch.words + batch.features[0] * batch.scale;
      return batch.split == "train" ? sum.tanh() : sum.exp();
    });
    example::Batch batch{leaf({3, 4}), {normal({4})}, "train", 2.0};
    Tensors seen{f(batch), f(batch)};
    batch.split = "test";
    seen.push_back(f(batch));
    batch.scale = 3;
    seen.push_back(f(batch));
    seen[0].sum().backward();
    seen.push_back(batch.words.grad());
    return seen;
  }));
  all.push_back(scenario("AnAggregateIsAResult", [](auto compile) {
    auto f = compile([](const Tensor& x) {
      return example::Batch{x * 2, {x.sum(0), x.t()}, "made", 0.5};
    });
    const example::Batch made = f(leaf({3, 4}));
    return Tensors{made.words, made.features[0], made.features[1], flag(made.split == "made"),
                   flag(made.scale == 0.5)};
  }));
  all.push_back(scenario("NestedContainers", [](auto compile) {
    using Named = std::map<std::string, std::vector<Tensor>>;
    auto f = compile([](const Named& named, std::optional<Tensor> bias) {
      const Tensor sum = named.at("a")[0] * named.at("b")[0] + named.at("b")[1];
      return std::make_pair(bias ? sum + *bias : sum, Named{{"half", {sum / 2}}});
    });
    const Named named{{"a", {leaf({3})}}, {"b", {normal({3}), leaf({3})}}};
    const auto [with, more] = f(named, std::optional<Tensor>(normal({3})));
    const auto [without, _] = f(named, std::optional<Tensor>());
    return Tensors{with, more.at("half")[0], without};
  }));
  all.push_back(scenario("AGeneratorOfTheProgram", [](auto compile) {
    auto generator = std::make_shared<at::Generator>(at::detail::createCPUGenerator(5));
    if (!test_device().is_cpu()) return Tensors{};
    auto f =
        compile([generator](const Tensor& x) { return x + torch::rand(x.sizes(), *generator); });
    const Tensor x = normal({4});
    return Tensors{f(x), f(x), torch::rand({2})};
  }));
  if (test_device().is_cpu()) all.back().eager_reason = "is given a generator";
}

// A network, a function of it and what is looked at after each of its calls.
template <class Compile>
Tensors seen_of_changes(Compile compile,
                        const std::vector<std::function<void(nn::Sequential&)>>& changes) {
  nn::Sequential net(nn::Linear(4, 5), nn::Tanh(), nn::Linear(5, 2));
  net->to(test_device());
  auto f = compile([](nn::Sequential& n, const Tensor& x) { return n->forward(x).square().sum(); });
  const Tensor x = normal({3, 4});
  Tensors seen;
  const auto step = [&] {
    net->zero_grad();
    const Tensor input = x.to(net->parameters()[0].scalar_type());
    const Tensor loss = f(net, input);
    if (loss.requires_grad()) loss.backward();
    seen.push_back(loss);
    for (const Tensor& p : net->parameters()) seen.push_back(zeros_like_or(p.grad()));
  };
  step();
  for (const auto& change : changes) {
    change(net);
    step();
    step();
  }
  return seen;
}

Tensor& weight_of(nn::Sequential& net, size_t i) { return net[i]->as<nn::Linear>()->weight; }

void add_modules(std::vector<Scenario>& all) {
  const auto changed = [&](std::string name, std::function<void(nn::Sequential&)> change) {
    all.push_back(scenario(std::move(name),
                           [change](auto compile) { return seen_of_changes(compile, {change}); }));
  };
  changed("ParametersAreMoved", [](nn::Sequential& net) { net->to(torch::kFloat64); });
  changed("AParameterIsFrozen",
          [](nn::Sequential& net) { weight_of(net, 0).requires_grad_(false); });
  changed("ParametersAreLoaded", [](nn::Sequential& net) {
    torch::NoGradGuard no_grad;
    for (Tensor& p : net->parameters()) p.copy_(torch::randn_like(p));
  });
  changed("AParametersDataIsReplaced", [](nn::Sequential& net) {
    weight_of(net, 0).set_data(torch::randn_like(weight_of(net, 0)));
  });
  changed("AParameterIsReplaced", [](nn::Sequential& net) {
    auto& linear = *net[2]->as<nn::Linear>();
    const Tensor fresh = torch::randn_like(linear.weight).detach().requires_grad_();
    linear.weight = fresh;
  });
  // The module still registers the one before.
  all.back().eager_reason = "neither an argument nor declared state";
  changed("ASubmoduleIsReplaced", [](nn::Sequential& net) {
    nn::Linear first(4, 5), last(5, 2);
    net = nn::Sequential(first, nn::Tanh(), last);
    net->to(test_device());
  });
  changed("AParameterBecomesShared", [](nn::Sequential& net) {
    nn::Linear shared(4, 4);
    shared->to(test_device());
    net = nn::Sequential(shared, nn::Tanh(), shared);
  });
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  add_arguments(all);
  add_modules(all);
  return all;
}

class ArgumentsOfTheDoor : public ::testing::TestWithParam<Scenario> {};

TEST_P(ArgumentsOfTheDoor, AreAsInEager) { expect_the_same_seen(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, ArgumentsOfTheDoor, ::testing::ValuesIn(scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace torchdyn
