// A small model and what is to be seen of a training step: results, parameters, buffers, gradients
// and the random stream.
//   Subject subject(loss_of);
//   subject.call().backward();
//   State after = State::of(subject);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace faults {

using torch::Tensor;
namespace nn = torch::nn;

// Buffers that a call changes, a parameter under two names, random numbers.
struct Net : nn::Module {
  nn::Linear in{nullptr}, middle{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Net() {
    in = register_module("in", nn::Linear(12, 16));
    norm = register_module("norm", nn::BatchNorm1d(16));
    middle = register_module("middle", nn::Linear(16, 16));
    register_parameter("tied", middle->weight);
  }
  Tensor loss(const Tensor& x, const Tensor& y) {
    Tensor h = torch::dropout(norm(in(x)).relu(), 0.3, is_training());
    h = torch::tanh(middle(h)).matmul(middle->weight);
    return ((h - y).square() * h.sigmoid()).mean();
  }
};

using Function = Tensor (*)(Net& net, const Tensor& x, const Tensor& y);
inline Tensor loss_of(Net& net, const Tensor& x, const Tensor& y) { return net.loss(x, y); }

struct Subject {
  std::function<Tensor(Net&, const Tensor&, const Tensor&)> function;
  std::shared_ptr<Net> net;
  Tensor x, y, longer_x, longer_y;
  std::vector<Tensor> results;

  explicit Subject(std::function<Tensor(Net&, const Tensor&, const Tensor&)> function)
      : function(std::move(function)) {
    torch::manual_seed(0);
    net = std::make_shared<Net>();
    x = torch::randn({8, 12}), y = torch::randn({8, 16});
    longer_x = torch::randn({11, 12}), longer_y = torch::randn({11, 16});
  }
  Tensor call() const { return function(*net, x, y); }
};

inline at::Generator generator() { return at::globalContext().defaultGenerator(torch::kCPU); }

struct State {
  std::vector<Tensor> values, gradients;  // of parameters, then buffers
  Tensor random;

  static State of(const Subject& subject) {
    State state;
    const auto add = [&](const Tensor& t) {
      state.values.push_back(t.detach().clone());
      state.gradients.push_back(t.grad().defined() ? t.grad().clone() : Tensor());
    };
    for (const Tensor& t : subject.net->parameters()) add(t);
    for (const Tensor& t : subject.net->buffers()) add(t);
    state.random = generator().get_state();
    return state;
  }
  void put_into(Subject& subject) const {
    torch::NoGradGuard no_grad;
    size_t next = 0;
    const auto put = [&](Tensor t) {
      t.copy_(values[next]);
      const Tensor& gradient = gradients[next++];
      t.mutable_grad() = gradient.defined() ? gradient.clone() : Tensor();
    };
    for (const Tensor& t : subject.net->parameters()) put(t);
    for (const Tensor& t : subject.net->buffers()) put(t);
    generator().set_state(random);
  }
};

inline bool same(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && torch::allclose(a, b, 1e-4, 1e-5);
}

// Empty, or what of `got` is neither as in `want` nor, where that is allowed, as it was before.
inline std::string difference(const State& got, const State& want, const State* before = nullptr) {
  const auto held = [&](const Tensor& t, const Tensor& wanted, const Tensor* was) {
    return same(t, wanted) || (was != nullptr && same(t, *was));
  };
  for (size_t i = 0; i < want.values.size(); ++i) {
    if (!held(got.values[i], want.values[i], before ? &before->values[i] : nullptr))
      return "parameter or buffer " + std::to_string(i) + " is lost";
    if (!held(got.gradients[i], want.gradients[i], before ? &before->gradients[i] : nullptr))
      return "gradient " + std::to_string(i) + " is lost";
  }
  if (!held(got.random, want.random, before ? &before->random : nullptr))
    return "the random stream is elsewhere";
  return "";
}

}  // namespace faults
