// Softmax and log-softmax: the row's maximum is taken off first, so that exp cannot overflow.
#include <limits>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// ATen's kernels return contiguous results whatever their argument's strides.
Tensor contiguous_opmath(const Tensor& x) { return opmath(x.contiguous()); }

ScalarType result_type(const Tensor& self, bool half_to_float) {
  return half_to_float ? at::kFloat : self.scalar_type();
}

// amax has no result over an empty row; then there is nothing to shift either.
Tensor shifted(const Tensor& x, int64_t dim) {
  return x.sym_numel() == 0 ? x : x.sub(x.amax(dim, /*keepdim=*/true));
}

Tensor softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  const Tensor exp = shifted(contiguous_opmath(self), dim).exp();
  return exp.div(exp.sum(dim, /*keepdim=*/true)).to(result_type(self, half_to_float));
}

// Attention's: a row of -inf alone, which masks every key, gives zeros instead of NaN.
Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor x = self.to(dtype.value_or(self.scalar_type()));
  const Tensor masked = self.eq(-std::numeric_limits<double>::infinity());
  return softmax(x, dim, false).masked_fill(masked.all(dim, /*keepdim=*/true), 0);
}

Tensor log_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  const Tensor x = shifted(contiguous_opmath(self), dim);
  return x.sub(x.exp().sum(dim, /*keepdim=*/true).log()).to(result_type(self, half_to_float));
}

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim,
                        ScalarType input_dtype) {
  const Tensor g = contiguous_opmath(grad), y = contiguous_opmath(output);
  return g.sub(g.mul(y).sum(dim, /*keepdim=*/true)).mul(y).to(input_dtype);
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim,
                            ScalarType input_dtype) {
  const Tensor g = contiguous_opmath(grad), y = contiguous_opmath(output);
  return g.sub(y.exp().mul(g.sum(dim, /*keepdim=*/true))).to(input_dtype);
}

constexpr Decomposition kRows[] = {
    {"aten::_softmax", boxed<softmax>},
    {"aten::_safe_softmax", boxed<safe_softmax>},
    {"aten::_log_softmax", boxed<log_softmax>},
    {"aten::_softmax_backward_data", boxed<softmax_backward>},
    {"aten::_log_softmax_backward_data", boxed<log_softmax_backward>},
};

}  // namespace

std::span<const Decomposition> softmax_rows() { return kRows; }

}  // namespace aten_bridge::decompose
