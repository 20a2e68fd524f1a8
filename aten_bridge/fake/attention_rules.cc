// Scaled dot product attention: one kernel a device and back end.
#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// query [batch, heads, length, dim] with value's last dimension
Sizes output_sizes(const at::Tensor& query, const at::Tensor& value) {
  return {query.size(0), query.size(1), query.size(2), value.size(3)};
}

TensorType like_heads_inside(const at::Tensor& t) {
  return heads_inside(t.sizes().vec(), t.scalar_type(), t);
}

// (query, key, value, dropout_p, is_causal, *, attn_mask?, scale?): output, logsumexp
Types flash_for_cpu(Arguments a) {
  const at::Tensor& query = tensor(a, 0);
  TensorType logsumexp = dense({query.size(0), query.size(2), query.size(1)},
                               at::toOpMathType(query.scalar_type()), query);
  std::swap(logsumexp.sizes[1], logsumexp.sizes[2]);
  std::swap(logsumexp.strides[1], logsumexp.strides[2]);
  return {like_heads_inside(query), logsumexp};
}

// (grad_out, query, key, value, ...)
Types grads_of_qkv(Arguments a) {
  return {like_heads_inside(tensor(a, 1)), like_heads_inside(tensor(a, 2)),
          like_heads_inside(tensor(a, 3))};
}

// (query, key, value, attn_bias?, compute_log_sumexp, dropout_p, is_causal, *, scale?): output,
// logsumexp in rows of 32, the generator's seed and offset
Types efficient(Arguments a) {
  const at::Tensor& query = tensor(a, 0);
  const int64_t rows = a[4].toBool() ? (query.size(2) + 31) / 32 * 32 : 0;
  const TensorType counter = dense({}, at::kLong, query);
  return {heads_inside(output_sizes(query, tensor(a, 2)), query.scalar_type(), query),
          dense({query.size(0), query.size(1), rows}, at::kFloat, query), counter, counter};
}

// (grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
//  grad_input_mask, is_causal, *, scale?)
Types efficient_backward(Arguments a) {
  Types types = grads_of_qkv(a);
  types.emplace_back();
  if (is_given(a, 4) && mask_at(a, 10, 3)) {
    // The bias's gradient is a slice of rows padded to 16 elements.
    const at::Tensor& bias = tensor(a, 4);
    Sizes padded = bias.sizes().vec();
    padded.back() = (padded.back() + 15) / 16 * 16;
    TensorType grad = dense(padded, bias);
    grad.sizes.back() = bias.size(-1);
    types.back() = grad;
  }
  return types;
}

constexpr ShapeRule kRules[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_for_cpu},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", grads_of_qkv},
    {"aten::_scaled_dot_product_efficient_attention", efficient},
    {"aten::_scaled_dot_product_efficient_attention_backward", efficient_backward},
};

}  // namespace

std::span<const ShapeRule> attention_rules() { return kRules; }

}  // namespace aten_bridge
