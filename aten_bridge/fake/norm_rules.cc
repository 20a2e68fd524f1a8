// Normalisations: layer, group and batch norm, forward and backward.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

// The dtype of saved statistics: on the CPU float only when half inputs meet float parameters, on
// CUDA for all half inputs.
at::ScalarType statistics_dtype(const at::Tensor& input, Arguments a,
                                std::initializer_list<size_t> parameters) {
  if (!is_half(input.scalar_type())) return input.scalar_type();
  if (input.is_cuda()) return at::kFloat;
  for (size_t i : parameters)
    if (is_given(a, i) && tensor(a, i).scalar_type() == at::kFloat) return at::kFloat;
  return input.scalar_type();
}

std::optional<TensorType> if_asked(bool asked, TensorType type) {
  if (!asked) return std::nullopt;
  return type;
}

// (input, normalized_shape, weight?, bias?, eps): output, mean, rstd
Types native_layer_norm(Arguments a) {
  const at::Tensor& input = tensor(a, 0);
  Sizes statistics = input.sizes().vec();
  const size_t normalized = a[1].toIntVector().size();
  std::fill(statistics.end() - normalized, statistics.end(), 1);
  const TensorType saved = dense(statistics, statistics_dtype(input, a, {2, 3}), input);
  return {dense(input.sizes().vec(), input), saved, saved};
}

// (grad_out, input, normalized_shape, mean, rstd, weight?, bias?, output_mask)
Types native_layer_norm_backward(Arguments a) {
  const at::Tensor& input = tensor(a, 1);
  const Sizes row = a[2].toIntVector();
  const at::Tensor& parameter = is_given(a, 5) ? tensor(a, 5) : input;
  return {if_asked(mask_at(a, 7, 0), dense(input.sizes().vec(), input)),
          if_asked(mask_at(a, 7, 1), dense(row, parameter)),
          if_asked(mask_at(a, 7, 2), dense(row, parameter))};
}

// (input, weight?, bias?, N, C, HxW, group, eps): output, mean, rstd
Types native_group_norm(Arguments a) {
  const at::Tensor& input = tensor(a, 0);
  const TensorType saved =
      dense({a[3].toInt(), a[6].toInt()}, statistics_dtype(input, a, {1, 2}), input);
  return {dense(input.sizes().vec(), input, input.suggest_memory_format()), saved, saved};
}

// (grad_out, input, mean, rstd, weight?, N, C, HxW, group, output_mask)
Types native_group_norm_backward(Arguments a) {
  const at::Tensor& input = tensor(a, 1);
  const at::Tensor& parameter = is_given(a, 4) ? tensor(a, 4) : input;
  const TensorType channel = dense({a[6].toInt()}, parameter);
  return {
      if_asked(mask_at(a, 9, 0), dense(input.sizes().vec(), input, input.suggest_memory_format())),
      if_asked(mask_at(a, 9, 1), channel), if_asked(mask_at(a, 9, 2), channel)};
}

TensorType normalized(const at::Tensor& input) {
  return dense(input.sizes().vec(), input, input.suggest_memory_format());
}

TensorType channels(Arguments a, std::initializer_list<size_t> parameters) {
  const at::Tensor& input = tensor(a, 0);
  return dense({input.size(1)}, statistics_dtype(input, a, parameters), input);
}

// (input, weight?, bias?, running_mean?, running_var?, training, momentum, eps): output, mean,
// invstd. Evaluation saves nothing.
Types native_batch_norm(Arguments a) {
  TensorType saved = channels(a, {1, 2, 3, 4});
  if (!a[5].toBool() && tensor(a, 0).is_cpu()) saved.sizes = {0};
  return {normalized(tensor(a, 0)), saved, saved};
}

// The same without running statistics: (input, weight?, bias?, training, momentum, eps)
Types batch_norm_no_stats(Arguments a) {
  const TensorType saved = channels(a, {1, 2});
  return {normalized(tensor(a, 0)), saved, saved};
}

// native_batch_norm's arguments; the new running statistics are results too.
Types batch_norm_functional(Arguments a) {
  Types types = native_batch_norm(a);
  types.push_back(like(tensor(a, 3)));
  types.push_back(like(tensor(a, 4)));
  return types;
}

// (grad_out, input, weight?, running_mean?, running_var?, save_mean?, save_invstd?, train, eps,
//  output_mask)
Types native_batch_norm_backward(Arguments a) {
  const at::Tensor& input = tensor(a, 1);
  const at::Tensor& parameter = is_given(a, 2) ? tensor(a, 2) : input;
  const TensorType channel = dense({input.size(1)}, parameter);
  return {if_asked(mask_at(a, 9, 0), normalized(input)), if_asked(mask_at(a, 9, 1), channel),
          if_asked(mask_at(a, 9, 2), channel)};
}

constexpr ShapeRule kRules[] = {
    {"aten::native_layer_norm", native_layer_norm},
    {"aten::native_layer_norm_backward", native_layer_norm_backward},
    {"aten::native_group_norm", native_group_norm},
    {"aten::native_group_norm_backward", native_group_norm_backward},
    {"aten::native_batch_norm", native_batch_norm},
    {"aten::_native_batch_norm_legit.no_stats", batch_norm_no_stats},
    {"aten::_native_batch_norm_legit_functional", batch_norm_functional},
    {"aten::native_batch_norm_backward", native_batch_norm_backward},
    {"aten::batch_norm_backward", native_batch_norm_backward},
};

}  // namespace

std::span<const ShapeRule> norm_rules() { return kRules; }

}  // namespace aten_bridge
