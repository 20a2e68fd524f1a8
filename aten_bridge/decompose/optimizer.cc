// Optimizer steps over lists of parameters. Formulas and their order are those of ATen's kernels;
// bias corrections are made in float64 from the step counters, which stay inputs of the graph.
#include <ATen/ops/pow.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

using Tensors = std::vector<Tensor>;

// A number or a tensor of one, which multiplies whatever dtype it meets.
struct Rate {
  Scalar number;
  MaybeTensor tensor;
  explicit Rate(double value) : number(value) {}
  explicit Rate(const Tensor& value) : tensor(value.to(at::kDouble)) {}
  Tensor times(const Tensor& x) const { return tensor ? x.mul(*tensor) : x.mul(number); }
  Tensor over(const Tensor& x) const {  // x: a 0-dimensional float64
    return tensor ? tensor->div(x) : x.reciprocal().mul(number);
  }
};

// What both kinds of optimizer do with a gradient before they use it.
struct Gradients {
  bool maximize;
  MaybeTensor scale, found_inf;

  // As it is left in the caller's tensor.
  Tensor unscaled(const Tensor& grad) const {
    return scale ? opmath(grad).div(*scale).to(grad.scalar_type()) : grad;
  }
  Tensor directed(const Tensor& grad) const {
    const Tensor g = scale ? opmath(grad).div(*scale) : opmath(grad);
    return maximize ? g.neg() : g;
  }
  // After a gradient that is not finite nothing changes.
  Tensor unless_infinite(const Tensor& now, const Tensor& before) const {
    const Tensor rounded = now.to(before.scalar_type());
    return found_inf ? select(found_inf->ne(0), before, rounded) : rounded;
  }
};

struct Adam {
  Rate rate;
  double beta1, beta2, weight_decay, eps;
  bool amsgrad, decoupled;  // AdamW decays the weights apart from the gradient
};

using AdamResults = std::tuple<Tensors, Tensors, Tensors, Tensors, Tensors>;

AdamResults adam(const Tensors& params, const Tensors& grads, const Tensors& means,
                 const Tensors& squares, const Tensors& largest, const Tensors& steps,
                 const Adam& how, const Gradients& gradients) {
  AdamResults results;
  auto& [new_params, new_grads, new_means, new_squares, new_largest] = results;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor step = steps[i].to(at::kDouble);
    const Tensor correction1 = minus(1, at::pow(how.beta1, step));
    const Tensor correction2 = minus(1, at::pow(how.beta2, step)).sqrt();
    Tensor p = opmath(params[i]), g = gradients.directed(grads[i]);
    if (how.weight_decay != 0) {
      if (how.decoupled) {
        p = p.sub(how.rate.times(p.mul(how.weight_decay)));
      } else {
        g = g.add(p.mul(how.weight_decay));
      }
    }
    const Tensor mean = opmath(means[i]).lerp(g, 1 - how.beta1);
    const Tensor square = opmath(squares[i]).mul(how.beta2).add(g.mul(g).mul(1 - how.beta2));
    Tensor bound = square;
    if (how.amsgrad) {
      bound = opmath(largest[i]).maximum(square);
      new_largest.push_back(gradients.unless_infinite(bound, largest[i]));
    }
    const Tensor denominator = bound.sqrt().div(correction2).add(how.eps);
    p = p.sub(mean.div(denominator).mul(how.rate.over(correction1)));
    new_params.push_back(gradients.unless_infinite(p, params[i]));
    new_grads.push_back(gradients.unless_infinite(gradients.unscaled(grads[i]), grads[i]));
    new_means.push_back(gradients.unless_infinite(mean, means[i]));
    new_squares.push_back(gradients.unless_infinite(square, squares[i]));
  }
  return results;
}

template <class Lr, bool decoupled>
AdamResults fused_adam(const Tensors& self, const Tensors& grads, const Tensors& exp_avgs,
                       const Tensors& exp_avg_sqs, const Tensors& max_exp_avg_sqs,
                       const Tensors& state_steps, const Lr& lr, double beta1, double beta2,
                       double weight_decay, double eps, bool amsgrad, bool maximize,
                       const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  return adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
              {Rate(lr), beta1, beta2, weight_decay, eps, amsgrad, decoupled},
              {maximize, grad_scale, found_inf});
}

using SgdResults = std::tuple<Tensors, Tensors, Tensors>;

template <class Lr>
SgdResults fused_sgd(const Tensors& self, const Tensors& grads, const Tensors& buffers,
                     double weight_decay, double momentum, const Lr& lr, double dampening,
                     bool nesterov, bool maximize, bool is_first_step,
                     const MaybeTensor& grad_scale, const MaybeTensor& found_inf) {
  const Gradients gradients{maximize, grad_scale, found_inf};
  SgdResults results;
  auto& [new_params, new_grads, new_buffers] = results;
  for (size_t i = 0; i < self.size(); ++i) {
    const Tensor p = opmath(self[i]);
    Tensor g = gradients.directed(grads[i]);
    if (weight_decay != 0) g = g.add(p.mul(weight_decay));
    if (momentum != 0) {
      const Tensor buffer =
          is_first_step ? g : opmath(buffers[i]).mul(momentum).add(g.mul(1 - dampening));
      new_buffers.push_back(gradients.unless_infinite(buffer, buffers[i]));
      g = nesterov ? g.add(buffer.mul(momentum)) : buffer;
    }
    new_params.push_back(gradients.unless_infinite(p.sub(Rate(lr).times(g)), self[i]));
    new_grads.push_back(gradients.unless_infinite(gradients.unscaled(grads[i]), grads[i]));
  }
  return results;
}

constexpr Decomposition kRows[] = {
    {"aten::_fused_adam", boxed<fused_adam<double, false>>},
    {"aten::_fused_adam.tensor_lr", boxed<fused_adam<Tensor, false>>},
    {"aten::_fused_adamw", boxed<fused_adam<double, true>>},
    {"aten::_fused_adamw.tensor_lr", boxed<fused_adam<Tensor, true>>},
    {"aten::_fused_sgd", boxed<fused_sgd<double>>},
    {"aten::_fused_sgd.tensor_lr", boxed<fused_sgd<Tensor>>},
};

}  // namespace

std::span<const Decomposition> optimizer_rows() { return kRows; }

}  // namespace aten_bridge::decompose
