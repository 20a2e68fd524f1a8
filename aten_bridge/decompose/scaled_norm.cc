// Norms without a mean: RMS norm of activations, weight norm of parameters.
#include <limits>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// ATen's epsilon is that of the type computed in.
double epsilon(const Tensor& x) {
  return x.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                        : std::numeric_limits<float>::epsilon();
}

std::tuple<Tensor, Tensor> rms_norm(const Tensor& input, const SymInts& normalized_shape,
                                    const MaybeTensor& weight, std::optional<double> eps) {
  const int64_t axis = input.dim() - static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(!normalized_shape.empty() && axis >= 0 &&
                  input.sym_sizes().slice(axis) == c10::SymIntArrayRef(normalized_shape),
              "rms_norm's shape is not that of its input's last dimensions");
  const Tensor x = opmath(input.contiguous());
  const Tensor rstd = mean_over(x.mul(x), dims_from(x, axis), /*keepdim=*/true)
                          .add(eps.value_or(epsilon(x)))
                          .rsqrt();
  const Tensor y = x.mul(rstd);
  return {(weight ? y.mul(opmath(*weight)) : y).to(input.scalar_type()), rstd};
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                                             const SymInts& normalized_shape, const Tensor& rstd,
                                             const MaybeTensor& weight, std::array<bool, 2> mask) {
  const Tensor g = opmath(grad_out.contiguous()), x = opmath(input.contiguous());
  const int64_t axis = x.dim() - static_cast<int64_t>(normalized_shape.size());
  const Tensor r = opmath(rstd), normalized = x.mul(r);
  Tensor grad_input, grad_weight;
  if (mask[0]) {
    const Tensor gw = weight ? g.mul(opmath(*weight)) : g;
    const Tensor along_x = mean_over(gw.mul(normalized), dims_from(x, axis), /*keepdim=*/true);
    grad_input = gw.sub(normalized.mul(along_x)).mul(r).to(input.scalar_type());
  }
  if (mask[1] && weight)
    grad_weight =
        sum_over(g.mul(normalized), dims_before(axis), /*keepdim=*/false).to(weight->scalar_type());
  return {grad_input, grad_weight};
}

// The CPU keeps the norms of float16 in float16.
ScalarType norms_type(const Tensor& g) {
  const auto type = g.scalar_type();
  return g.is_cuda() || type != at::kHalf ? opmath_type(type) : type;
}

// v scaled so that its slices along `dim`, the first or the last, have the norms g.
std::tuple<Tensor, Tensor> weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  const Tensor x = opmath(v);
  const Tensor norms = x.mul(x).sum(dims_except(v, dim), /*keepdim=*/true).sqrt();
  return {x.mul(opmath(g).div(norms)).to(v.scalar_type()), norms.to(norms_type(g))};
}

std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& grad, const Tensor& v,
                                                const Tensor& g, const Tensor& saved_norms,
                                                int64_t dim) {
  const Tensor gw = opmath(grad), x = opmath(v), scale = opmath(g), norms = opmath(saved_norms);
  const Tensor along_v = gw.mul(x).sum(dims_except(v, dim), /*keepdim=*/true).div(norms);
  const Tensor grad_v = gw.sub(x.mul(along_v.div(norms))).mul(scale.div(norms));
  return {grad_v.to(v.scalar_type()), along_v.to(g.scalar_type())};
}

constexpr Decomposition kRows[] = {
    {"aten::_fused_rms_norm", boxed<rms_norm>},
    {"aten::_fused_rms_norm_backward", boxed<rms_norm_backward>},
    {"aten::_weight_norm_interface", boxed<weight_norm>},
    {"aten::_weight_norm_interface_backward", boxed<weight_norm_backward>},
};

}  // namespace

std::span<const Decomposition> scaled_norm_rows() { return kRows; }

}  // namespace aten_bridge::decompose
