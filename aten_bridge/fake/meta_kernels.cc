#include "aten_bridge/fake/meta_kernels.h"

#include <algorithm>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/fake/shape_rules.h"
#include "aten_bridge/trace/boxed.h"

namespace aten_bridge {
namespace {

constexpr std::string_view kPointwise[] = {
    "aten::acos",
    "aten::acosh",
    "aten::asin",
    "aten::asinh",
    "aten::atan",
    "aten::atanh",
    "aten::ceil",
    "aten::cos",
    "aten::cosh",
    "aten::erf",
    "aten::erfc",
    "aten::erfinv",
    "aten::exp",
    "aten::exp2",
    "aten::expm1",
    "aten::floor",
    "aten::frac",
    "aten::lgamma",
    "aten::digamma",
    "aten::log",
    "aten::log10",
    "aten::log1p",
    "aten::log2",
    "aten::neg",
    "aten::reciprocal",
    "aten::round",
    "aten::rsqrt",
    "aten::sigmoid",
    "aten::sgn",
    "aten::sign",
    "aten::signbit",
    "aten::sin",
    "aten::sinc",
    "aten::sinh",
    "aten::sqrt",
    "aten::tan",
    "aten::tanh",
    "aten::trunc",
    "aten::silu",
    "aten::mish",
    "aten::gelu",
    "aten::elu",
    "aten::leaky_relu",
    "aten::softplus",
    "aten::softshrink",
    "aten::hardshrink",
    "aten::threshold",
    "aten::hardsigmoid",
    "aten::bitwise_not",
    "aten::i0",
    "aten::add.Tensor",
    "aten::sub.Tensor",
    "aten::mul.Tensor",
    "aten::div.Tensor",
    "aten::div.Tensor_mode",
    "aten::remainder.Tensor",
    "aten::fmod.Tensor",
    "aten::pow.Tensor_Tensor",
    "aten::pow.Tensor_Scalar",
    "aten::pow.Scalar",
    "aten::maximum",
    "aten::minimum",
    "aten::fmax",
    "aten::fmin",
    "aten::atan2",
    "aten::hypot",
    "aten::copysign.Tensor",
    "aten::copysign.Scalar",
    "aten::logaddexp",
    "aten::xlogy.Tensor",
    "aten::bitwise_and.Tensor",
    "aten::bitwise_or.Tensor",
    "aten::bitwise_xor.Tensor",
    "aten::bitwise_left_shift.Tensor",
    "aten::bitwise_right_shift.Tensor",
    "aten::add.Scalar",
    "aten::sub.Scalar",
    "aten::mul.Scalar",
    "aten::div.Scalar",
    "aten::rsub.Scalar",
    "aten::remainder.Scalar",
    "aten::fmod.Scalar",
    "aten::bitwise_and.Scalar",
    "aten::bitwise_or.Scalar",
    "aten::bitwise_xor.Scalar",
    "aten::div.Scalar_mode",
    "aten::eq.Tensor",
    "aten::ne.Tensor",
    "aten::lt.Tensor",
    "aten::le.Tensor",
    "aten::gt.Tensor",
    "aten::ge.Tensor",
    "aten::eq.Scalar",
    "aten::ne.Scalar",
    "aten::lt.Scalar",
    "aten::le.Scalar",
    "aten::gt.Scalar",
    "aten::ge.Scalar",
    "aten::addcmul",
    "aten::addcdiv",
    "aten::lerp.Tensor",
    "aten::lerp.Scalar",
    "aten::clamp",
    "aten::clamp.Tensor",
    "aten::clamp_min",
    "aten::clamp_max",
    "aten::clamp_min.Tensor",
    "aten::clamp_max.Tensor",
    "aten::sigmoid_backward",
    "aten::tanh_backward",
    "aten::gelu_backward",
    "aten::silu_backward",
    "aten::threshold_backward",
    "aten::elu_backward",
    "aten::leaky_relu_backward",
    "aten::softplus_backward",
    "aten::hardsigmoid_backward",
    "aten::logit_backward",
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    "aten::mse_loss",
    "aten::smooth_l1_loss",
};

constexpr std::string_view kReductions[] = {
    "aten::sum",
    "aten::sum.dim_IntList",
    "aten::mean",
    "aten::mean.dim",
    "aten::prod.dim_int",
    "aten::amax",
    "aten::amin",
    "aten::max.dim",
    "aten::min.dim",
    "aten::argmax",
    "aten::argmin",
    "aten::any",
    "aten::any.dim",
    "aten::any.dims",
    "aten::all",
    "aten::all.dim",
    "aten::all.dims",
    "aten::cumsum",
    "aten::cumprod",
    "aten::sort.stable",
    "aten::topk",
    "aten::linalg_vector_norm",
    "aten::norm.ScalarOpt_dim",
    "aten::_softmax",
    "aten::_log_softmax",
    "aten::_softmax_backward_data",
    "aten::_log_softmax_backward_data",
    "aten::nll_loss_forward",
    "aten::nll_loss_backward",
};

constexpr std::string_view kViews[] = {
    "aten::view",       "aten::view.dtype",   "aten::_unsafe_view",  "aten::_reshape_alias",
    "aten::expand",     "aten::permute",      "aten::transpose.int", "aten::t",
    "aten::select.int", "aten::slice.Tensor", "aten::split.Tensor",  "aten::split_with_sizes",
    "aten::unbind.int", "aten::squeeze",      "aten::squeeze.dim",   "aten::squeeze.dims",
    "aten::unsqueeze",  "aten::as_strided",   "aten::alias",         "aten::detach",
    "aten::diagonal",   "aten::unfold",       "aten::lift_fresh",    "aten::lift",
};

constexpr std::string_view kIndexing[] = {
    "aten::cat",
    "aten::stack",
    "aten::gather",
    "aten::index.Tensor",
    "aten::_unsafe_index.Tensor",
    "aten::scatter.src",
    "aten::scatter.value",
    "aten::scatter_add",
    "aten::index_add",
    "aten::select_backward",
    "aten::slice_backward",
    "aten::select_scatter",
    "aten::slice_scatter",
    "aten::as_strided_scatter",
    "aten::diagonal_scatter",
    "aten::tril",
    "aten::triu",
    "aten::constant_pad_nd",
    "aten::repeat",
    "aten::index_put",
    "aten::unsafe_split.Tensor",
    "aten::masked_scatter",
};

constexpr std::string_view kFactories[] = {
    "aten::empty.memory_format",
    "aten::empty_strided",
    "aten::empty_like",
    "aten::zeros",
    "aten::zeros_like",
    "aten::zero",
    "aten::ones",
    "aten::ones_like",
    "aten::full",
    "aten::full_like",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::new_zeros",
    "aten::new_ones",
    "aten::new_full",
    "aten::arange",
    "aten::arange.start",
    "aten::arange.start_step",
    "aten::scalar_tensor",
    "aten::rand",
    "aten::randn",
    "aten::rand_like",
    "aten::randn_like",
    "aten::randint",
    "aten::randint.low",
    "aten::eye",
    "aten::eye.m",
    "aten::linspace",
    "aten::normal_functional",
    "aten::uniform",
    "aten::clone",
    "aten::lift_fresh_copy",
    "aten::_to_copy",
    "aten::copy",
    "aten::fill.Scalar",
    "aten::fill.Tensor",
};

constexpr std::string_view kMatrix[] = {
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::max_pool2d_with_indices",
    "aten::max_pool2d_with_indices_backward",
    "aten::avg_pool2d",
    "aten::avg_pool2d_backward",
    "aten::upsample_nearest2d",
    "aten::upsample_bilinear2d",
};

constexpr std::span<const std::string_view> kFamilies[] = {kPointwise, kReductions, kViews,
                                                           kIndexing,  kFactories,  kMatrix};

}  // namespace

std::span<const std::span<const std::string_view>> tested_meta_kernels() { return kFamilies; }

bool meta_kernel_is_tested(std::string_view op) {
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [op](const auto& family) {
    return std::find(family.begin(), family.end(), op) != family.end();
  });
}

std::vector<c10::IValue> call_meta_kernel(const c10::OperatorHandle& op,
                                          std::span<const c10::IValue> args) {
  std::vector<c10::IValue> stack(args.begin(), args.end());
  map_tensors(
      stack, [](const at::Tensor& tensor) { return is_fake(tensor) ? meta_twin(tensor) : tensor; });
  const auto& specs = op.schema().arguments();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name() == "pin_memory") stack[i] = c10::IValue();
    if (stack[i].isDevice() || specs[i].name() == "device") stack[i] = c10::Device(c10::kMeta);
  }
  const c10::impl::ExcludeDispatchKeyGuard only_meta(keys_down_to_fake());
  op.callBoxed(&stack);
  return stack;
}

}  // namespace aten_bridge
