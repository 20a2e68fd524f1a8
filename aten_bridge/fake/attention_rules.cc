// Scaled dot product attention: one kernel a device and back end.
#include <algorithm>
#include <numeric>

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"
#include "aten_bridge/trace/capture.h"

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
  return {like(query), logsumexp};
}

// (grad_out, query, key, value, ...)
Types grads_of_qkv(Arguments a) {
  return {like_heads_inside(tensor(a, 1)), like_heads_inside(tensor(a, 2)),
          like_heads_inside(tensor(a, 3))};
}

// (query, key, value, attn_bias?, compute_log_sumexp, dropout_p, is_causal, *, scale?): output,
// logsumexp in rows of 32, the generator's seed and offset, which stay on the host
Types efficient(Arguments a) {
  const at::Tensor& query = tensor(a, 0);
  const int64_t rows = a[4].toBool() ? (query.size(2) + 31) / 32 * 32 : 0;
  TensorType counter = dense({}, at::kLong, query);
  counter.device = Device{};
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

// A dense tensor of these sizes whose dimensions lie in memory in t's order.
TensorType in_order_of(const at::Tensor& t, const Sizes& sizes) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return t.stride(a) > t.stride(b); });
  Sizes memory;
  for (int d : order) memory.push_back(sizes[d]);
  const std::vector<SymExpr> strides = dense(memory, t).strides;
  TensorType type = dense(sizes, t);
  for (size_t i = 0; i < order.size(); ++i) type.strides[order[i]] = strides[i];
  return type;
}

int64_t sequence_lengths(Arguments a, int output) {
  return tensor(a, output == 4 ? 0 : 1).size(2);  // max_q, max_k
}

// (query, key, value, dropout_p, is_causal, return_debug_mask, *, scale?): output, logsumexp,
// cum_seq_q and _k (none), max_q, max_k, the random state, one that is unused, debug mask (empty).
Types flash(Arguments a) {
  if (a[5].toBool()) throw CaptureError("attention is asked for a debug mask");
  const at::Tensor& query = tensor(a, 0);
  Types types(9);
  types[0] = in_order_of(query, output_sizes(query, tensor(a, 2)));
  types[1] = dense({query.size(0), query.size(1), query.size(2)}, at::kFloat, query);
  types[6] = dense({2}, at::kUInt64, query);
  types[7] = dense({}, at::kUInt64, query);
  types[8] = dense({0}, query);
  return types;
}

// (query, key, value, attn_bias?, compute_log_sumexp, dropout_p, is_causal, return_debug_mask, *,
//  scale?): output, logsumexp, cum_seq_q and _k (none), max_q, max_k, seed, offset, debug mask
//  (none)
Types cudnn(Arguments a) {
  const at::Tensor& query = tensor(a, 0);
  Types types(9);
  types[0] = in_order_of(query, output_sizes(query, tensor(a, 2)));
  if (a[4].toBool())
    types[1] = dense({query.size(0), query.size(1), query.size(2), 1}, at::kFloat, query);
  types[6] = types[7] = dense({}, at::kLong, query);
  return types;
}

// (grad_out, query, key, value, ...): gradients like their tensors
Types like_qkv(Arguments a) { return {like(tensor(a, 1)), like(tensor(a, 2)), like(tensor(a, 3))}; }

constexpr ShapeRule kRules[] = {
    {"aten::_scaled_dot_product_flash_attention", flash, sequence_lengths},
    {"aten::_scaled_dot_product_flash_attention_backward", like_qkv},
    {"aten::_scaled_dot_product_cudnn_attention", cudnn, sequence_lengths},
    {"aten::_scaled_dot_product_cudnn_attention_backward", like_qkv},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", flash_for_cpu},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", grads_of_qkv},
    {"aten::_scaled_dot_product_efficient_attention", efficient},
    {"aten::_scaled_dot_product_efficient_attention_backward", efficient_backward},
};

}  // namespace

std::span<const ShapeRule> attention_rules() { return kRules; }

}  // namespace aten_bridge
