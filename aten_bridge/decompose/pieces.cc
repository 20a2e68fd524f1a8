#include "aten_bridge/decompose/pieces.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include "aten_bridge/trace/boxed.h"

namespace aten_bridge::decompose {

void run_as_aten_composes(std::string_view op, Stack& stack) {
  find_operator(op).callBoxedForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd, stack);
}

ScalarType opmath_type(ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

Tensor opmath(const Tensor& x) { return x.to(opmath_type(x.scalar_type())); }

Tensor constant(const Scalar& value, const Tensor& x) { return at::full({}, value, x.options()); }

Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  return at::where(condition, yes, no);
}
Tensor select(const Tensor& condition, const Tensor& yes, const Scalar& no) {
  return at::where(condition, yes, constant(no, yes));
}
Tensor select(const Tensor& condition, const Scalar& yes, const Tensor& no) {
  return at::where(condition, constant(yes, no), no);
}

Tensor minus(const Scalar& value, const Tensor& x) { return x.neg().add(value); }

Tensor at_least(const Tensor& x, const Scalar& low) { return x.maximum(constant(low, x)); }
Tensor at_most(const Tensor& x, const Scalar& high) { return x.minimum(constant(high, x)); }

MemoryOrder::MemoryOrder(const Tensor& x) : outer_first(dims_from(x, 0)), back(x.dim()) {
  if (x.is_non_overlapping_and_dense())
    std::stable_sort(outer_first.begin(), outer_first.end(),
                     [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  for (int64_t i = 0; i < x.dim(); ++i) {
    sizes.push_back(x.sym_size(outer_first[i]));
    back[outer_first[i]] = i;
  }
}

Tensor laid_out_as(const Tensor& x, const Tensor& model) {
  if (x.strides() == model.strides() || x.sizes() != model.sizes() ||
      !model.is_non_overlapping_and_dense())
    return x;
  const MemoryOrder order(model);
  return x.permute(order.outer_first).contiguous().permute(order.back);
}

Tensor filled_like(const Tensor& x, const Scalar& value, ScalarType dtype) {
  const MemoryOrder order(x);
  return at::full_symint(order.sizes, value, x.options().dtype(dtype)).permute(order.back);
}

std::vector<int64_t> dims_from(const Tensor& x, int64_t first) {
  std::vector<int64_t> dims;
  for (int64_t d = first; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

std::vector<int64_t> dims_before(int64_t end) {
  std::vector<int64_t> dims(end);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int64_t> dims_except(const Tensor& x, int64_t kept) {
  std::vector<int64_t> dims = dims_from(x, 0);
  std::erase(dims, kept);
  return dims;
}

std::vector<int64_t> named_dims(const Tensor& x, const std::optional<std::vector<int64_t>>& dims) {
  if (!dims || dims->empty() || x.dim() == 0) return dims_from(x, 0);
  std::vector<int64_t> named;
  for (int64_t d : *dims) named.push_back(d < 0 ? d + x.dim() : d);
  return named;
}

c10::SymInt count(const Tensor& x, const std::vector<int64_t>& dims) {
  c10::SymInt n = 1;
  for (int64_t d : dims) n = n * x.sym_size(d);
  return n;
}

Tensor sum_over(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim) {
  return dims.empty() ? x : x.sum(dims, keepdim);
}

Tensor mean_over(const Tensor& x, const std::vector<int64_t>& dims, bool keepdim) {
  return sum_over(x, dims, keepdim).div(Scalar(count(x, dims)));
}

Tensor reduce_loss(const Tensor& losses, int64_t reduction) {
  const auto all = dims_from(losses, 0);
  switch (reduction) {
    case 0:
      return losses;
    case 1:
      return mean_over(losses, all, false);
    default:
      return sum_over(losses, all, false);
  }
}

}  // namespace aten_bridge::decompose
