#include "aten_bridge/trace/mask_rewrites.h"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/IndexingUtils.h>
#include <ATen/ops/masked_fill.h>
#include <ATen/ops/reshape.h>

namespace aten_bridge {
namespace {

using Indices = c10::List<std::optional<at::Tensor>>;

bool is_mask(const std::optional<at::Tensor>& index) {
  return index && index->defined() &&
         (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte);
}

// The places where a mask holds are read once, for the forward and the backward. (self, indices,
// ...)
bool expand_masks(const c10::OperatorHandle& op, Stack& stack) {
  const size_t count = op.schema().arguments().size();
  c10::IValue& argument = torch::jit::peek(stack, 1, count);
  const Indices indices = argument.toOptionalTensorList();
  if (std::none_of(indices.begin(), indices.end(), is_mask)) return false;
  Indices places;
  const at::Tensor self = torch::jit::peek(stack, 0, count).toTensor();
  for (at::Tensor& index : at::native::expandTensors(self, indices))
    places.push_back(index.defined() ? std::optional(std::move(index)) : std::nullopt);
  argument = std::move(places);
  op.callBoxed(&stack);
  return true;
}

// The one mask of indices that are otherwise whole dimensions, with the dimensions of `self`.
std::optional<at::Tensor> only_mask(const at::Tensor& self, const Indices& indices) {
  std::optional<at::Tensor> mask;
  int64_t before = 0;
  for (const std::optional<at::Tensor>& index : indices) {
    if (index && index->defined()) {
      if (!is_mask(index) || mask) return std::nullopt;
      mask = *index;
    } else if (!mask) {
      ++before;
    }
  }
  if (!mask || before + mask->dim() > self.dim()) return std::nullopt;
  if (self.sizes().slice(before, mask->dim()) != mask->sizes()) return std::nullopt;
  std::vector<int64_t> sizes(self.dim(), 1);
  std::copy(mask->sizes().begin(), mask->sizes().end(), sizes.begin() + before);
  return mask->to(at::kBool).reshape(sizes);
}

// One number at all places of a mask needs no places. (self, indices, values, accumulate)
bool put(const c10::OperatorHandle& op, Stack& stack) {
  const at::Tensor self = torch::jit::peek(stack, 0, 4).toTensor();
  const at::Tensor values = torch::jit::peek(stack, 2, 4).toTensor();
  const bool accumulate = torch::jit::peek(stack, 3, 4).toBool();
  const auto mask = only_mask(self, torch::jit::peek(stack, 1, 4).toOptionalTensorList());
  if (!mask || accumulate || values.numel() != 1 || values.dtype() != self.dtype())
    return expand_masks(op, stack);
  torch::jit::drop(stack, 4);
  const at::Tensor value = values.reshape({});
  stack.emplace_back(op.schema().is_mutable() ? self.masked_fill_(*mask, value)
                                              : self.masked_fill(*mask, value));
  return true;
}

constexpr Rewrite kRewrites[] = {
    {"aten::index.Tensor", expand_masks},
    {"aten::_unsafe_index.Tensor", expand_masks},
    {"aten::index_put", put},
    {"aten::index_put_", put},
};

}  // namespace

std::span<const Rewrite> mask_rewrites() { return kRewrites; }

}  // namespace aten_bridge
