// Indexing operators without a C++ Meta kernel.
#include <algorithm>

#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/meta_kernels.h"
#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"
#include "aten_bridge/trace/boxed.h"

namespace aten_bridge {
namespace {

// (weight, indices, padding_idx, scale_grad_by_freq, sparse)
Types embedding(Arguments a) {
  TORCH_CHECK(tensor(a, 0).dim() == 2, "'weight' must be 2-D");
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

// (self, index)
Types take(Arguments a) { return {dense(tensor(a, 1).sizes().vec(), tensor(a, 0))}; }

at::ScalarType place_type(const c10::IValue& out_int32) {
  return out_int32.toBool() ? at::kInt : at::kLong;
}

// (sorted_sequence, self, *, out_int32, ...)
Types searchsorted(Arguments a) {
  return {dense(tensor(a, 1).sizes().vec(), place_type(a[2]), tensor(a, 1))};
}
Types searchsorted_number(Arguments a) { return {dense({}, place_type(a[2]), tensor(a, 0))}; }

// (self, boundaries, *, out_int32, right)
Types bucketize(Arguments a) {
  TORCH_CHECK(tensor(a, 1).dim() == 1, "boundaries tensor must be 1 dimension");
  return {dense(tensor(a, 0).sizes().vec(), place_type(a[2]), tensor(a, 0))};
}
Types bucketize_number(Arguments a) { return {dense({}, place_type(a[2]), tensor(a, 1))}; }

// (self, shifts, dims): slices are concatenated, which keeps channels last on the CPU
Types roll(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes shifts = a[1].toIntVector(), dims = a[2].toIntVector();
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  TORCH_CHECK(shifts.size() == std::max<size_t>(dims.size(), 1),
              "shifts and dimensions must align");
  for (int64_t dim : dims) self.size(dim);  // raises where there is none
  if (dims.empty() || self.is_cuda()) return {dense(self.sizes().vec(), self)};
  if (self.numel() == 0) return {like(self)};
  return {dense(self.sizes().vec(), self, self.suggest_memory_format())};
}

// (repeats, *, output_size?)
Types repeat_interleave(Arguments a) {
  if (a[1].isNone()) size_depends_on_values("aten::repeat_interleave.Tensor");
  return {dense({a[1].toInt()}, tensor(a, 0))};
}

// It only checks.
Types nothing(Arguments) { return {}; }

// (self, k, dims): by quarters
Types rot90(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes dims = a[2].toIntVector();
  TORCH_CHECK(dims.size() == 2 && self.dim() >= 2, "rot90 takes two dimensions");
  TORCH_CHECK(at::maybe_wrap_dim(dims[0], self.dim()) != at::maybe_wrap_dim(dims[1], self.dim()),
              "expected rotation dims to be different");
  const int64_t quarters = ((a[1].toInt() % 4) + 4) % 4;
  if (quarters == 0) return {dense(self.sizes().vec(), self)};
  TensorType type = like(self);
  if (quarters == 2) return {type};
  const int64_t first = at::maybe_wrap_dim(dims[0], self.dim());
  const int64_t second = at::maybe_wrap_dim(dims[1], self.dim());
  std::swap(type.sizes[first], type.sizes[second]);
  std::swap(type.strides[first], type.strides[second]);
  return {type};
}

// (self, mask, indices, fill): what is indexed, and filled where the mask is false
Types masked_index(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const c10::OperatorHandle index = find_operator("aten::index.Tensor");
  const c10::IValue args[] = {a[0], a[2]};
  const at::Tensor picked = call_meta_kernel(index, meta_kernel_key(index), args)[0].toTensor();
  return {elementwise({picked, tensor(a, 1)}, self.scalar_type())};
}

// (self, *, size, fill_value)
Types nonzero_static(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  TensorType type = dense({a[1].toInt(), self.dim()}, at::kLong, self);
  if (self.is_cuda()) type.strides = {1, a[1].toInt()};
  return {type};
}

// (grad_output, mask, sizes)
Types masked_scatter_backward(Arguments a) { return {dense(a[2].toIntVector(), tensor(a, 0))}; }

Types like_self(Arguments a) { return {like(tensor(a, 0))}; }

constexpr ShapeRule kRules[] = {
    {"aten::embedding", embedding},
    {"aten::embedding_renorm", like_self},
    {"aten::embedding_dense_backward", embedding_dense_backward},
    {"aten::index_select", index_select},
    {"aten::flip", like_self},
    {"aten::roll", roll},
    {"aten::repeat_interleave.Tensor", repeat_interleave},
    {"aten::_assert_async", nothing},
    {"aten::_assert_async.msg", nothing},
    {"aten::rot90", rot90},
    {"aten::_unsafe_masked_index", masked_index},
    {"aten::_unsafe_masked_index_put_accumulate", like_self},
    {"aten::take", take},
    {"aten::searchsorted.Tensor", searchsorted},
    {"aten::searchsorted.Scalar", searchsorted_number},
    {"aten::bucketize.Tensor", bucketize},
    {"aten::bucketize.Scalar", bucketize_number},
    {"aten::nonzero_static", nonzero_static},
    {"aten::masked_scatter_backward", masked_scatter_backward},
};

}  // namespace

std::span<const ShapeRule> index_rules() { return kRules; }

}  // namespace aten_bridge
