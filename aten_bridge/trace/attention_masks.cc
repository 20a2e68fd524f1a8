#include "aten_bridge/trace/attention_masks.h"

#include <limits>
#include <optional>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/recorder.h"
#include "aten_bridge/trace/scope.h"

namespace aten_bridge {
namespace {

namespace functional = at::functionalization::impl;

std::optional<at::Tensor> known_value(const at::Tensor& mask) {
  if (!functional::isFunctionalTensor(mask) || mask.requires_grad()) return std::nullopt;
  functional::sync(mask);
  return CaptureScope::recorder()->constant(functional::from_functional_tensor(mask));
}

// Where a mask lets keys through: it is true, or adds nothing. None where it adds a number that
// leaves something of a key.
std::optional<at::Tensor> open_places(const at::Tensor& mask) {
  if (mask.scalar_type() == at::kBool) return mask;
  const at::Tensor open = mask.eq(0);
  const at::Tensor least =
      at::full({}, -std::numeric_limits<double>::infinity(), mask.options()).nan_to_num();
  return open.logical_or(mask.le(least)).all().item<bool>() ? std::optional(open) : std::nullopt;
}

enum class Mask { kNone, kCausal, kOther };

Mask kind_of(const at::Tensor& value, int64_t queries, int64_t keys) {
  const c10::impl::ExcludeDispatchKeyGuard to_kernels(keys_down_to_fake());
  const std::optional<at::Tensor> open = open_places(value);
  if (!open) return Mask::kOther;
  if (open->all().item<bool>()) return Mask::kNone;
  const bool is_square = open->dim() >= 2 && open->size(-2) == queries && open->size(-1) == keys;
  if (!is_square || queries != keys) return Mask::kOther;
  const at::Tensor causal = at::ones({queries, keys}, open->options()).tril();
  return open->eq(causal).all().item<bool>() ? Mask::kCausal : Mask::kOther;
}

// The fast kernels take no mask, or not one that is laid out like a broadcast one; a program that
// is not captured leaves out a mask that lets all keys through, or says that it is causal.
// (query, key, value, attn_mask?, dropout_p, is_causal, *, scale?, enable_gqa)
bool attention(const c10::OperatorHandle& op, Stack& stack) {
  const auto args = std::span(stack).last(op.schema().arguments().size());
  if (!args[3].isTensor() || !args[3].toTensor().defined() || args[5].toBool()) return false;
  const std::optional<at::Tensor> value = known_value(args[3].toTensor());
  if (!value) return false;
  const Mask kind = kind_of(*value, args[0].toTensor().size(-2), args[1].toTensor().size(-2));
  if (kind == Mask::kOther) return false;
  args[3] = c10::IValue();
  args[5] = kind == Mask::kCausal;
  op.callBoxed(&stack);
  return true;
}

constexpr Rewrite kRows[] = {
    {"aten::scaled_dot_product_attention", attention},
};

}  // namespace

std::span<const Rewrite> attention_masks() { return kRows; }

}  // namespace aten_bridge
