// Indexing operators without a C++ Meta kernel.
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// (weight, indices, padding_idx, scale_grad_by_freq, sparse)
Types embedding(Arguments a) {
  Sizes sizes = tensor(a, 1).sizes().vec();
  const auto row = tensor(a, 0).sizes().slice(1);
  sizes.insert(sizes.end(), row.begin(), row.end());
  return {dense(sizes, tensor(a, 0))};
}

// (grad, indices, num_weights, padding_idx, scale_grad_by_freq)
Types embedding_dense_backward(Arguments a) {
  return {dense({a[2].toInt(), tensor(a, 0).size(-1)}, tensor(a, 0))};
}

// (self, dim, index)
Types index_select(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) sizes[at::maybe_wrap_dim(a[1].toInt(), self.dim())] = tensor(a, 2).numel();
  return {dense(sizes, self)};
}

Types like_self(Arguments a) { return {like(tensor(a, 0))}; }

constexpr ShapeRule kRules[] = {
    {"aten::embedding", embedding},
    {"aten::embedding_dense_backward", embedding_dense_backward},
    {"aten::index_select", index_select},
    {"aten::flip", like_self},
};

}  // namespace

std::span<const ShapeRule> index_rules() { return kRules; }

}  // namespace aten_bridge
