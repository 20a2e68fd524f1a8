// Bags of embeddings. What a mode does not need is empty, and the CPU and CUDA differ in that.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"
#include "aten_bridge/trace/capture.h"

namespace aten_bridge {
namespace {

constexpr int64_t kSum = 0, kMax = 2;  // modes; 1 is the mean

// Whether the CPU sums rows without first writing down which bag an index belongs to.
bool sums_directly(Arguments a) {
  const at::Tensor& weight = tensor(a, 0);
  const auto type = weight.scalar_type();
  return (type == at::kFloat || type == at::kHalf || type == at::kBFloat16) &&
         weight.stride(1) == 1 && a[8].toInt() < 0 &&
         (!is_given(a, 6) || tensor(a, 6).stride(0) == 1);
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights?,
//  include_last_offset, padding_idx): output, the bag of each index, bag sizes, places of maxima
Types embedding_bag(Arguments a, bool for_backward) {
  const at::Tensor &weight = tensor(a, 0), &indices = tensor(a, 1), &offsets = tensor(a, 2);
  const int64_t mode = a[4].toInt(), width = weight.size(1);
  const int64_t bags = offsets.size(0) - a[7].toBool();
  const TensorType output = dense({bags, width}, weight);
  if (weight.is_cuda())
    return {output, dense({indices.size(0)}, indices), dense({offsets.size(0)}, indices),
            dense(mode == kMax ? Sizes{bags, width} : Sizes{0}, indices)};
  const bool direct = mode == kSum && sums_directly(a);
  const Sizes sizes = for_backward || mode != kSum ? Sizes{bags} : Sizes{offsets.size(0)};
  return {output, dense({direct ? 0 : indices.size(0)}, indices), dense(sizes, indices),
          dense(mode == kMax ? Sizes{bags, width} : sizes, indices)};
}

Types with_backward(Arguments a) { return embedding_bag(a, true); }
Types forward_only(Arguments a) { return embedding_bag(a, false); }

// (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights,
//  scale_grad_by_freq, mode, sparse, ...)
Types embedding_bag_backward(Arguments a) {
  if (a[9].toBool()) throw CaptureError("aten::_embedding_bag_backward makes a sparse tensor");
  return {dense({a[6].toInt(), tensor(a, 0).size(1)}, tensor(a, 0))};
}

// (grad, indices, offset2bag, bag_size, maximum_indices, num_weights, ...)
Types embedding_bag_dense_backward(Arguments a) {
  return {dense({a[5].toInt(), tensor(a, 0).size(1)}, tensor(a, 0))};
}

// (grad, weight, indices, ...)
Types per_sample_weights_backward(Arguments a) {
  return {dense({tensor(a, 2).size(0)}, tensor(a, 0))};
}

constexpr ShapeRule kRules[] = {
    {"aten::_embedding_bag", with_backward},
    {"aten::_embedding_bag_forward_only", forward_only},
    {"aten::_embedding_bag_backward", embedding_bag_backward},
    {"aten::_embedding_bag_dense_backward", embedding_bag_dense_backward},
    {"aten::_embedding_bag_per_sample_weights_backward", per_sample_weights_backward},
};

}  // namespace

std::span<const ShapeRule> embedding_bag_rules() { return kRules; }

}  // namespace aten_bridge
