// Activations and their derivatives, pointwise. Formulas are those of ATen's kernels, whose edges
// (x == threshold, NaN) they keep.
#include <cmath>

#include <ATen/ops/cat.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

constexpr double kSqrtHalf = M_SQRT1_2;
constexpr double kSqrtTwoOverPi = M_2_SQRTPI * M_SQRT1_2;
constexpr double kGeluCubic = 0.044715;

// Computed in the opmath type, rounded once.
template <class F>
Tensor unary(const Tensor& self, F f) {
  return f(opmath(self)).to(self.scalar_type());
}
template <class F>
Tensor binary(const Tensor& a, const Tensor& b, F f) {
  const auto type = c10::promoteTypes(a.scalar_type(), b.scalar_type());
  return laid_out_as(f(opmath(a), opmath(b)).to(type), a);
}

Tensor gelu(const Tensor& self, const std::string& approximate) {
  return unary(self, [&](const Tensor& x) {
    if (approximate == "none") return x.mul(0.5).mul(x.mul(kSqrtHalf).erf().add(1));
    const Tensor inner = x.mul(x).mul(x).mul(kGeluCubic).add(x).mul(kSqrtTwoOverPi);
    return x.mul(0.5).mul(inner.tanh().add(1));
  });
}

Tensor gelu_backward(const Tensor& grad, const Tensor& self, const std::string& approximate) {
  return binary(grad, self, [&](const Tensor& g, const Tensor& x) {
    if (approximate == "none") {
      const Tensor cdf = x.mul(kSqrtHalf).erf().add(1).mul(0.5);
      const Tensor pdf = x.mul(x).mul(-0.5).exp().mul(kSqrtTwoOverPi * 0.5);
      return g.mul(cdf.add(x.mul(pdf)));
    }
    const Tensor square = x.mul(x);
    const Tensor inner = square.mul(x).mul(kGeluCubic).add(x).mul(kSqrtTwoOverPi);
    const Tensor tanh = inner.tanh();
    const Tensor left = tanh.add(1).mul(0.5);
    const Tensor inner_slope = square.mul(3 * kGeluCubic).add(1).mul(kSqrtTwoOverPi);
    const Tensor right = x.mul(0.5).mul(minus(1, tanh.mul(tanh))).mul(inner_slope);
    return g.mul(left.add(right));
  });
}

Tensor silu(const Tensor& self) {
  return unary(self, [](const Tensor& x) { return x.div(x.neg().exp().add(1)); });
}

Tensor silu_backward(const Tensor& grad, const Tensor& self) {
  return binary(grad, self, [](const Tensor& g, const Tensor& x) {
    const Tensor s = x.sigmoid();
    return g.mul(s).mul(x.mul(minus(1, s)).add(1));
  });
}

Tensor sigmoid_backward(const Tensor& grad, const Tensor& output) {
  return binary(grad, output,
                [](const Tensor& g, const Tensor& y) { return g.mul(minus(1, y)).mul(y); });
}

Tensor tanh_backward(const Tensor& grad, const Tensor& output) {
  return binary(grad, output,
                [](const Tensor& g, const Tensor& y) { return g.mul(minus(1, y.mul(y))); });
}

Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  return select(self.le(threshold), value, self);
}

Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  return select(self.le(threshold), 0, grad);
}

Tensor hardtanh(const Tensor& self, const Scalar& low, const Scalar& high) {
  return at_most(at_least(self, low), high);
}

Tensor hardtanh_backward(const Tensor& grad, const Tensor& self, const Scalar& low,
                         const Scalar& high) {
  return laid_out_as(select(self.le(low).logical_or(self.ge(high)), 0, grad), grad);
}

Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale,
           const Scalar& input_scale) {
  const double negative = alpha.toDouble() * scale.toDouble();
  return unary(self, [&](const Tensor& x) {
    return select(x.lt(0), x.mul(input_scale).expm1().mul(negative), x.mul(scale));
  });
}

Tensor elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                    const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  const double negative = alpha.toDouble() * scale.toDouble();
  return binary(grad, self_or_result, [&](const Tensor& g, const Tensor& y) {
    const Tensor slope = is_result
                             ? y.add(negative).mul(input_scale)
                             : y.mul(input_scale).exp().mul(input_scale.toDouble() * negative);
    return select(y.le(0), g.mul(slope), g.mul(scale));
  });
}

Tensor leaky_relu(const Tensor& self, const Scalar& slope) {
  return unary(self, [&](const Tensor& x) { return select(x.gt(0), x, x.mul(slope)); });
}

Tensor leaky_relu_backward(const Tensor& grad, const Tensor& self, const Scalar& slope,
                           bool /*is_result: the sign is the same*/) {
  return binary(self, grad,
                [&](const Tensor& x, const Tensor& g) { return select(x.gt(0), g, g.mul(slope)); });
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  return binary(self, weight,
                [](const Tensor& x, const Tensor& w) { return select(x.gt(0), x, w.mul(x)); });
}

std::tuple<Tensor, Tensor> prelu_backward(const Tensor& grad, const Tensor& self,
                                          const Tensor& weight) {
  const Tensor g = opmath(grad), x = opmath(self), positive = x.gt(0);
  return {select(positive, g, opmath(weight).mul(g)).to(self.scalar_type()),
          select(positive, 0, x.mul(g)).to(weight.scalar_type())};
}

Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return unary(self, [&](const Tensor& x) {
    const Tensor scaled = x.mul(beta);
    return select(scaled.gt(threshold), x, scaled.exp().log1p().div(beta));
  });
}

Tensor softplus_backward(const Tensor& grad, const Tensor& self, const Scalar& beta,
                         const Scalar& threshold) {
  return binary(grad, self, [&](const Tensor& g, const Tensor& x) {
    const Tensor scaled = x.mul(beta), z = scaled.exp();
    return select(scaled.gt(threshold), g, g.mul(z).div(z.add(1)));
  });
}

Tensor mish(const Tensor& self) {
  return unary(self, [](const Tensor& x) { return x.mul(x.exp().log1p().tanh()); });
}

Tensor mish_backward(const Tensor& grad, const Tensor& self) {
  return binary(grad, self, [](const Tensor& g, const Tensor& x) {
    const Tensor t = x.exp().log1p().tanh();
    return g.mul(t.add(x.mul(x.sigmoid()).mul(minus(1, t.mul(t)))));
  });
}

Tensor relu6_of_plus_three(const Tensor& x) { return at_most(at_least(x.add(3), 0), 6); }

Tensor hardsigmoid(const Tensor& self) {
  return unary(self, [](const Tensor& x) { return relu6_of_plus_three(x).div(6); });
}

Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& self) {
  return binary(grad, self, [](const Tensor& g, const Tensor& x) {
    constexpr float kSixth = 1.0f / 6;  // ATen rounds it to float32 whatever the dtype
    return select(x.gt(-3).logical_and(x.lt(3)), g.mul(kSixth), 0);
  });
}

Tensor hardswish(const Tensor& self) {
  return unary(self, [](const Tensor& x) { return x.mul(relu6_of_plus_three(x)).div(6); });
}

Tensor hardswish_backward(const Tensor& grad, const Tensor& self) {
  return binary(grad, self, [](const Tensor& g, const Tensor& x) {
    return select(x.le(-3), 0, select(x.lt(3), g.mul(x.div(3).add(0.5)), g));
  });
}

std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
  const Tensor x = opmath(self), buffer = x.abs().neg().exp();
  const auto type = self.scalar_type();
  // CUDA's kernel needs no buffer and returns an empty one.
  return {at_most(x, 0).sub(buffer.log1p()).to(type),
          self.is_cuda() ? filled_like(self.new_empty({0}), 0, type) : buffer.to(type)};
}

// Computes the buffer again: an exp costs less than to keep it.
Tensor log_sigmoid_backward(const Tensor& grad, const Tensor& self, const Tensor& /*buffer*/) {
  return binary(grad, self, [](const Tensor& g, const Tensor& x) {
    const Tensor z = x.abs().neg().exp(), tail = z.div(z.add(1));
    return g.mul(select(x.lt(0), minus(1, tail), tail));
  });
}

Tensor outside(const Tensor& x, const Scalar& bound, const Tensor& value) {
  return select(x.ge(-bound).logical_and(x.le(bound)), 0, value);
}

Tensor hardshrink(const Tensor& self, const Scalar& bound) { return outside(self, bound, self); }

Tensor shrink_backward(const Tensor& grad, const Tensor& self, const Scalar& bound) {
  return laid_out_as(outside(self, bound, grad), grad);
}

Tensor softshrink(const Tensor& self, const Scalar& bound) {
  return unary(self, [&](const Tensor& x) {
    return select(x.gt(bound), x.sub(bound), select(x.lt(-bound), x.add(bound), x.mul(0)));
  });
}

std::pair<Tensor, Tensor> halves(const Tensor& x, int64_t dim) {
  const c10::SymInt half = x.sym_size(dim) / 2;
  return {x.narrow_symint(dim, 0, half), x.narrow_symint(dim, half, half)};
}

Tensor glu(const Tensor& self, int64_t dim) {
  const auto [value, gate] = halves(self, dim);
  return binary(value, gate, [](const Tensor& a, const Tensor& b) { return a.mul(b.sigmoid()); });
}

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  const auto [value, gate] = halves(opmath(self), dim);
  const Tensor s = gate.sigmoid(), by_value = opmath(grad).mul(s);
  return at::cat({by_value, by_value.mul(minus(1, s)).mul(value)}, dim).to(self.scalar_type());
}

constexpr Decomposition kRows[] = {
    {"aten::gelu", boxed<gelu>},
    {"aten::gelu_backward", boxed<gelu_backward>},
    {"aten::silu", boxed<silu>},
    {"aten::silu_backward", boxed<silu_backward>},
    {"aten::sigmoid_backward", boxed<sigmoid_backward>},
    {"aten::tanh_backward", boxed<tanh_backward>},
    {"aten::threshold", boxed<threshold>},
    {"aten::threshold_backward", boxed<threshold_backward>},
    {"aten::hardtanh", boxed<hardtanh>},
    {"aten::hardtanh_backward", boxed<hardtanh_backward>},
    {"aten::elu", boxed<elu>},
    {"aten::elu_backward", boxed<elu_backward>},
    {"aten::leaky_relu", boxed<leaky_relu>},
    {"aten::leaky_relu_backward", boxed<leaky_relu_backward>},
    {"aten::_prelu_kernel", boxed<prelu>},
    {"aten::_prelu_kernel_backward", boxed<prelu_backward>},
    {"aten::softplus", boxed<softplus>},
    {"aten::softplus_backward", boxed<softplus_backward>},
    {"aten::mish", boxed<mish>},
    {"aten::mish_backward", boxed<mish_backward>},
    {"aten::hardsigmoid", boxed<hardsigmoid>},
    {"aten::hardsigmoid_backward", boxed<hardsigmoid_backward>},
    {"aten::hardswish", boxed<hardswish>},
    {"aten::hardswish_backward", boxed<hardswish_backward>},
    {"aten::log_sigmoid_forward", boxed<log_sigmoid>},
    {"aten::log_sigmoid_backward", boxed<log_sigmoid_backward>},
    {"aten::hardshrink", boxed<hardshrink>},
    {"aten::hardshrink_backward", boxed<shrink_backward>},
    {"aten::softshrink", boxed<softshrink>},
    {"aten::softshrink_backward", boxed<shrink_backward>},
    {"aten::glu", boxed<glu>},
    {"aten::glu_backward", boxed<glu_backward>},
};

}  // namespace

std::span<const Decomposition> activation_rows() { return kRows; }

}  // namespace aten_bridge::decompose
