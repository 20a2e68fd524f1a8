// Layer, batch and group normalisation. Statistics take two passes (the mean, then the mean of
// squared deviations), which loses no digits where the mean is large beside the deviation.
#include <ATen/ops/full.h>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

struct Statistics {
  Tensor mean, variance, deviation;  // reduced dimensions kept
  Tensor rstd(double eps) const { return variance.add(eps).rsqrt(); }
};

Statistics statistics(const Tensor& x, const std::vector<int64_t>& dims) {
  const Tensor mean = mean_over(x, dims, /*keepdim=*/true);
  const Tensor deviation = x.sub(mean);
  return {mean, mean_over(deviation.mul(deviation), dims, /*keepdim=*/true), deviation};
}

// One value a channel, so that it broadcasts over x's dimensions around `channel`.
Tensor along(const Tensor& v, const Tensor& x, int64_t channel) {
  SymInts sizes(x.dim(), 1);
  sizes[channel] = x.sym_size(channel);
  return opmath(v).view_symint(sizes);
}

MaybeTensor channel(const MaybeTensor& v, const Tensor& x) {
  return v ? MaybeTensor(along(*v, x, 1)) : std::nullopt;
}

Tensor affine(Tensor y, const MaybeTensor& weight, const MaybeTensor& bias) {
  if (weight) y = y.mul(opmath(*weight));
  if (bias) y = y.add(opmath(*bias));
  return y;
}

// The dtype of saved statistics. CUDA keeps the accumulation type; the CPU the input's, unless the
// parameters are wider.
ScalarType statistics_type(const Tensor& input, const MaybeTensor& parameter) {
  const auto type = input.scalar_type();
  const bool wider = parameter && parameter->scalar_type() != type;
  return input.is_cuda() || wider ? opmath_type(type) : type;
}

std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& input, const SymInts& normalized_shape,
                                              const MaybeTensor& weight, const MaybeTensor& bias,
                                              double eps) {
  const int64_t axis = input.dim() - static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(!normalized_shape.empty() && axis >= 0 &&
                  input.sym_sizes().slice(axis) == c10::SymIntArrayRef(normalized_shape),
              "layer_norm's shape is not that of its input's last dimensions");
  for (const MaybeTensor& parameter : {weight, bias})
    TORCH_CHECK(!parameter || parameter->sym_sizes() == c10::SymIntArrayRef(normalized_shape),
                "layer_norm's parameters are not of its shape");
  const Tensor x = opmath(input.contiguous());
  const auto stats = statistics(x, dims_from(x, axis));
  const Tensor rstd = stats.rstd(eps);
  const Tensor y = affine(stats.deviation.mul(rstd), weight, bias);
  const auto kept = statistics_type(input, weight ? weight : bias);
  return {y.to(input.scalar_type()), stats.mean.to(kept), rstd.to(kept)};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                       const SymInts& normalized_shape,
                                                       const Tensor& mean, const Tensor& rstd,
                                                       const MaybeTensor& weight,
                                                       const MaybeTensor& bias,
                                                       std::array<bool, 3> mask) {
  const Tensor g = opmath(grad_out.contiguous()), x = opmath(input.contiguous());
  const Tensor r = opmath(rstd), normalized = x.sub(opmath(mean)).mul(r);
  const int64_t axis = x.dim() - static_cast<int64_t>(normalized_shape.size());
  const auto inner = dims_from(x, axis), outer = dims_before(axis);

  Tensor grad_input, grad_weight, grad_bias;
  if (mask[0]) {
    const Tensor gw = weight ? g.mul(opmath(*weight)) : g;
    const Tensor along_mean = mean_over(gw, inner, /*keepdim=*/true);
    const Tensor along_x = mean_over(gw.mul(normalized), inner, /*keepdim=*/true);
    grad_input = gw.sub(along_mean).sub(normalized.mul(along_x)).mul(r).to(input.scalar_type());
  }
  if (mask[1] && weight)
    grad_weight = sum_over(g.mul(normalized), outer, false).to(weight->scalar_type());
  if (mask[2] && bias) grad_bias = sum_over(g, outer, false).to(bias->scalar_type());
  return {grad_input, grad_weight, grad_bias};
}

struct BatchNorm {
  // Saved statistics: one value a channel; of an evaluation on the CPU empty.
  Tensor output, mean, rstd;
  Tensor running_mean, running_var;  // their new values, where there are running statistics
};

Tensor blend(const Tensor& old, const Tensor& now, double momentum) {
  return opmath(old).mul(1 - momentum).add(now.mul(momentum)).to(old.scalar_type());
}

BatchNorm batch_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                     const MaybeTensor& running_mean, const MaybeTensor& running_var, bool training,
                     double momentum, double eps) {
  const Tensor x = opmath(input.contiguous(input.suggest_memory_format()));
  const auto kept = statistics_type(input, weight ? weight : running_mean);
  BatchNorm result;
  Tensor deviation, rstd;
  if (training) {
    const auto dims = dims_except(x, 1);
    const auto stats = statistics(x, dims);
    deviation = stats.deviation;
    rstd = stats.rstd(eps);
    const SymInts channels{x.sym_size(1)};
    const Tensor mean = stats.mean.reshape_symint(channels);
    result.mean = mean.to(kept);
    result.rstd = rstd.reshape_symint(channels).to(kept);
    if (running_mean) result.running_mean = blend(*running_mean, mean, momentum);
    if (running_var) {
      const auto n = count(x, dims);
      const Tensor unbiased =
          stats.variance.reshape_symint(channels).mul(Scalar(n)).div(Scalar(n - 1));
      result.running_var = blend(*running_var, unbiased, momentum);
    }
  } else {
    TD_CHECK(running_mean && running_var, "batch_norm without statistics of either kind");
    deviation = x.sub(along(*running_mean, x, 1));
    rstd = along(*running_var, x, 1).add(eps).rsqrt();
    if (input.is_cuda()) {
      result.mean = running_mean->to(kept);
      result.rstd = opmath(*running_var).add(eps).rsqrt().to(kept);
    } else {
      result.mean = result.rstd = constant(0, input).to(kept).expand({0});
    }
    result.running_mean = *running_mean;
    result.running_var = *running_var;
  }
  result.output =
      affine(deviation.mul(rstd), channel(weight, x), channel(bias, x)).to(input.scalar_type());
  return result;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_functional(
    const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
    double eps) {
  auto r = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {r.output, r.mean, r.rstd, r.running_mean, r.running_var};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_no_stats(const Tensor& input,
                                                       const MaybeTensor& weight,
                                                       const MaybeTensor& bias, bool training,
                                                       double momentum, double eps) {
  auto r = batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
  return {r.output, r.mean, r.rstd};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_no_training(
    const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  auto r = batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {r.output, r.mean, r.rstd};
}

// Its schema hides that it updates the running statistics; rewritten only where it does not.
std::tuple<Tensor, Tensor, Tensor> batch_norm_hiding(const Tensor& input, const MaybeTensor& weight,
                                                     const MaybeTensor& bias,
                                                     const MaybeTensor& running_mean,
                                                     const MaybeTensor& running_var, bool training,
                                                     double momentum, double eps) {
  auto r = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {r.output, r.mean, r.rstd};
}

bool updates_nothing(const Stack& stack) {
  const auto args = stack.end() - 8;
  const bool training = args[5].toBool();
  return !training || (args[3].isNone() && args[4].isNone());
}

// cuDNN keeps a workspace between forward and backward; these do not need one.
Tensor no_reserve(const Tensor& input) {
  return at::full({0}, 0, input.options().dtype(at::kByte));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  auto r = batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {r.output, r.mean, r.rstd, no_reserve(input), r.running_mean, r.running_var};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_no_update(
    const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps) {
  auto r = batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {r.output, r.mean, r.rstd, no_reserve(input)};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(
    const Tensor& grad_out, const Tensor& input, const MaybeTensor& weight,
    const MaybeTensor& running_mean, const MaybeTensor& running_var, const MaybeTensor& save_mean,
    const MaybeTensor& save_rstd, bool training, double eps, std::array<bool, 3> mask) {
  const auto format = input.suggest_memory_format();
  const Tensor g = opmath(grad_out.contiguous(format)), x = opmath(input.contiguous(format));
  const auto dims = dims_except(x, 1);
  const Scalar n = count(x, dims);
  const Tensor rstd =
      training ? along(*save_rstd, x, 1) : along(*running_var, x, 1).add(eps).rsqrt();
  const Tensor deviation = x.sub(along(training ? *save_mean : *running_mean, x, 1));
  const Tensor sum_g = g.sum(dims, /*keepdim=*/true);
  const Tensor dot = g.mul(deviation).sum(dims, /*keepdim=*/true);

  const SymInts channels{x.sym_size(1)};
  Tensor grad_input, grad_weight, grad_bias;
  if (mask[0]) {
    Tensor d = g;
    if (training) d = d.sub(sum_g.div(n)).sub(deviation.mul(dot.mul(rstd).mul(rstd).div(n)));
    d = d.mul(rstd);
    if (weight) d = d.mul(along(*weight, x, 1));
    grad_input = d.to(input.scalar_type());
  }
  const auto parameter_type = weight ? weight->scalar_type() : input.scalar_type();
  if (mask[1]) grad_weight = dot.mul(rstd).reshape_symint(channels).to(parameter_type);
  if (mask[2]) grad_bias = sum_g.reshape_symint(channels).to(parameter_type);
  return {grad_input, grad_weight, grad_bias};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward_with_reserve(
    const Tensor& grad_out, const Tensor& input, const MaybeTensor& weight,
    const MaybeTensor& running_mean, const MaybeTensor& running_var, const MaybeTensor& save_mean,
    const MaybeTensor& save_rstd, bool training, double eps, std::array<bool, 3> mask,
    const Tensor& /*reserve*/) {
  return batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
                             save_rstd, training, eps, mask);
}

// Views of a group norm's operands: rows [N, groups, everything of a group], channels [N, C, HxW].
struct Groups {
  c10::SymInt n, c, hxw;
  int64_t group;
  Tensor rows(const Tensor& x) const {
    return x.reshape_symint(SymInts{n, group, c / group * hxw});
  }
  Tensor channels(const Tensor& x) const { return x.reshape_symint(SymInts{n, c, hxw}); }
  Tensor statistic(const Tensor& v) const { return v.reshape_symint(SymInts{n, group, 1}); }
};

std::tuple<Tensor, Tensor, Tensor> group_norm(const Tensor& input, const MaybeTensor& weight,
                                              const MaybeTensor& bias, const c10::SymInt& n,
                                              const c10::SymInt& c, const c10::SymInt& hxw,
                                              int64_t group, double eps) {
  const Groups view{n, c, hxw, group};
  const auto format = input.suggest_memory_format();
  const auto stats = statistics(view.rows(opmath(input.contiguous())), {2});
  const Tensor rstd = stats.rstd(eps);
  const Tensor normalized = view.channels(stats.deviation.mul(rstd));
  const Tensor y = affine(normalized, channel(weight, normalized), channel(bias, normalized));
  const auto kept = statistics_type(input, weight ? weight : bias);
  const SymInts statistic_sizes{n, group};
  return {y.reshape_symint(input.sym_sizes()).to(input.scalar_type()).contiguous(format),
          stats.mean.reshape_symint(statistic_sizes).to(kept),
          rstd.reshape_symint(statistic_sizes).to(kept)};
}

std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                       const Tensor& mean, const Tensor& rstd,
                                                       const MaybeTensor& weight,
                                                       const c10::SymInt& n, const c10::SymInt& c,
                                                       const c10::SymInt& hxw, int64_t group,
                                                       std::array<bool, 3> mask) {
  const Groups view{n, c, hxw, group};
  const auto format = input.suggest_memory_format();
  const Tensor g = view.channels(opmath(grad_out.contiguous()));
  const Tensor r = view.statistic(opmath(rstd));
  const Tensor normalized =
      view.rows(opmath(input.contiguous())).sub(view.statistic(opmath(mean))).mul(r);

  Tensor grad_input, grad_weight, grad_bias;
  if (mask[0]) {
    const Tensor gw = view.rows(weight ? g.mul(along(*weight, g, 1)) : g);
    const Tensor along_mean = mean_over(gw, {2}, /*keepdim=*/true);
    const Tensor along_x = mean_over(gw.mul(normalized), {2}, /*keepdim=*/true);
    grad_input = gw.sub(along_mean).sub(normalized.mul(along_x)).mul(r);
    grad_input =
        grad_input.reshape_symint(input.sym_sizes()).to(input.scalar_type()).contiguous(format);
  }
  const auto parameter_type = weight ? weight->scalar_type() : input.scalar_type();
  if (mask[1])
    grad_weight = g.mul(view.channels(normalized)).sum(at::IntArrayRef{0, 2}).to(parameter_type);
  if (mask[2]) grad_bias = g.sum(at::IntArrayRef{0, 2}).to(parameter_type);
  return {grad_input, grad_weight, grad_bias};
}

constexpr Decomposition kRows[] = {
    {"aten::native_layer_norm", boxed<layer_norm>},
    {"aten::native_layer_norm_backward", boxed<layer_norm_backward>},
    {"aten::_native_batch_norm_legit_functional", boxed<batch_norm_functional>},
    {"aten::_native_batch_norm_legit.no_stats", boxed<batch_norm_no_stats>},
    {"aten::_native_batch_norm_legit_no_training", boxed<batch_norm_no_training>},
    {"aten::native_batch_norm", boxed<batch_norm_hiding>, updates_nothing},
    {"aten::native_batch_norm_backward", boxed<batch_norm_backward>},
    {"aten::_batch_norm_with_update_functional", boxed<batch_norm_with_update>},
    {"aten::_batch_norm_no_update", boxed<batch_norm_no_update>},
    {"aten::batch_norm_backward", boxed<batch_norm_backward_with_reserve>},
    {"aten::native_group_norm", boxed<group_norm>},
    {"aten::native_group_norm_backward", boxed<group_norm_backward>},
};

}  // namespace

std::span<const Decomposition> norm_rows() { return kRows; }

}  // namespace aten_bridge::decompose
