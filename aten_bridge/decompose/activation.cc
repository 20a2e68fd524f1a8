// Activations that give several results or take halves of a tensor, and those that no scalar
// formula of the lowering has yet. Formulas are those of ATen's kernels, whose edges (NaN) they
// keep.
#include <ATen/core/Generator.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/leaky_relu.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

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

std::tuple<Tensor, Tensor> log_sigmoid(const Tensor& self) {
  const Tensor x = opmath(self), buffer = x.abs().neg().exp();
  const auto type = self.scalar_type();
  // CUDA's kernel needs no buffer and returns an empty one.
  const Tensor result = at_most(x, 0).sub(buffer.log1p()).to(type);
  if (self.is_cuda()) return {result, filled_like(self.new_empty({0}), 0, type)};
  return {result.contiguous(), buffer.to(type).contiguous()};  // as the CPU's kernel has them
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
  TORCH_CHECK(bound.toDouble() >= 0, "softshrink: lambda is ", bound.toDouble(),
              ", must not be negative");
  return unary(self, [&](const Tensor& x) {
    return select(x.gt(bound), x.sub(bound), select(x.lt(-bound), x.add(bound), x.mul(0)));
  });
}

// Without training, a leaky ReLU with the middle slope; with it, a draw an element that is
// negative.
std::tuple<Tensor, Tensor> rrelu_functional(const Tensor& self, const Tensor& noise,
                                            const Scalar& lower, const Scalar& upper,
                                            bool /*training*/,
                                            const std::optional<at::Generator>& /*generator*/) {
  return {at::leaky_relu(self, (lower.toDouble() + upper.toDouble()) / 2), noise};
}

bool draws_nothing(const Stack& stack) { return !stack[stack.size() - 2].toBool(); }

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
    {"aten::_prelu_kernel", boxed<prelu>},
    {"aten::_prelu_kernel_backward", boxed<prelu_backward>},
    {"aten::log_sigmoid_forward", boxed<log_sigmoid>},
    {"aten::log_sigmoid_backward", boxed<log_sigmoid_backward>},
    {"aten::hardshrink", boxed<hardshrink>, nullptr, true},
    {"aten::hardshrink_backward", boxed<shrink_backward>, nullptr, true},
    {"aten::softshrink", boxed<softshrink>},
    {"aten::softshrink_backward", boxed<shrink_backward>, nullptr, true},
    {"aten::rrelu_with_noise_functional", boxed<rrelu_functional>, draws_nothing, true},
    {"aten::glu", boxed<glu>},
    {"aten::glu_backward", boxed<glu_backward>},
};

}  // namespace

std::span<const Decomposition> activation_rows() { return kRows; }

}  // namespace aten_bridge::decompose
