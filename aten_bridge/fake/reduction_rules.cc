// Reductions without a C++ Meta kernel.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// The sizes that are left when `dims` (none: all) are reduced.
Sizes reduced(const at::Tensor& self, const c10::IValue& dims, bool keep) {
  const Sizes list = dims.isNone() ? Sizes() : dims.toIntVector();
  const auto gone = at::dim_list_to_bitset(at::OptionalIntArrayRef(list), self.dim());
  const bool all = list.empty();
  Sizes sizes;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!all && !gone[d]) {
      sizes.push_back(self.size(d));
    } else if (keep) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

Types whole(Arguments a) { return {dense({}, tensor(a, 0))}; }

at::ScalarType sum_type(const at::Tensor& self) {
  return c10::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong
                                                                       : self.scalar_type();
}

// (self, *, dtype?)
Types product(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {dense({}, a[1].isNone() ? sum_type(self) : a[1].toScalarType(), self)};
}

Types trace(Arguments a) { return {dense({}, sum_type(tensor(a, 0)), tensor(a, 0))}; }

// (self, dim?, keepdim, *, dtype?)
Types nansum(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {dense(reduced(self, a[1], a[2].toBool()),
                a[3].isNone() ? sum_type(self) : a[3].toScalarType(), self)};
}

// (self, dims)
Types count_nonzero(Arguments a) {
  return {dense(reduced(tensor(a, 0), a[1], false), at::kLong, tensor(a, 0))};
}

// (self, dim?)
Types count_nonzero_along(Arguments a) {
  const c10::IValue dims =
      a[1].isNone() ? c10::IValue() : c10::IValue(c10::List<int64_t>({a[1].toInt()}));
  return {dense(reduced(tensor(a, 0), dims, false), at::kLong, tensor(a, 0))};
}

// A value of each row, and where it was.
Types value_and_place(const at::Tensor& self, int64_t dim, bool keep) {
  const Sizes sizes = reduced(self, c10::List<int64_t>({dim}), keep);
  return {dense(sizes, self), dense(sizes, at::kLong, self)};
}

// (self, dim, keepdim)
Types of_rows(Arguments a) { return value_and_place(tensor(a, 0), a[1].toInt(), a[2].toBool()); }

// (self, k, dim, keepdim)
Types kthvalue(Arguments a) { return value_and_place(tensor(a, 0), a[2].toInt(), a[3].toBool()); }

Types logcumsumexp(Arguments a) { return {dense(tensor(a, 0).sizes().vec(), tensor(a, 0))}; }

// (data, reduce, *, lengths?, indices?, offsets?, axis, unsafe, initial?)
Types segment_reduce(Arguments a) {
  const at::Tensor& data = tensor(a, 0);
  Sizes sizes = tensor(a, is_given(a, 2) ? 2 : 4).sizes().vec();
  if (!is_given(a, 2)) --sizes.back();
  const auto rest = data.sizes().slice(a[5].toInt() + 1);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return {dense(sizes, data)};
}

// (grad, output, data, ...)
Types segment_reduce_backward(Arguments a) {
  return {dense(tensor(a, 2).sizes().vec(), tensor(a, 0))};
}

// (self, dim, keepdim)
Types logsumexp(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const bool integral = c10::isIntegralType(self.scalar_type(), /*includeBool=*/true);
  return {dense(reduced(self, a[1], a[2].toBool()),
                integral ? c10::get_default_dtype_as_scalartype() : self.scalar_type(), self)};
}

// (self, dim?, *, correction?, keepdim)
TensorType deviation(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return dense(reduced(self, a[1], a[3].toBool()), c10::toRealValueType(self.scalar_type()), self);
}

Types variance(Arguments a) { return {deviation(a)}; }

Types variance_and_mean(Arguments a) {
  TensorType mean = deviation(a);
  mean.dtype = like(tensor(a, 0)).dtype;
  return {deviation(a), mean};
}

constexpr ShapeRule kRules[] = {
    {"aten::max", whole},
    {"aten::min", whole},
    {"aten::prod", product},
    {"aten::logsumexp", logsumexp},
    {"aten::median", whole},
    {"aten::nanmedian", whole},
    {"aten::median.dim", of_rows},
    {"aten::nanmedian.dim", of_rows},
    {"aten::mode", of_rows},
    {"aten::kthvalue", kthvalue},
    {"aten::count_nonzero", count_nonzero_along},
    {"aten::trace", trace},
    {"aten::nansum", nansum},
    {"aten::count_nonzero.dim_IntList", count_nonzero},
    {"aten::logcumsumexp", logcumsumexp},
    {"aten::segment_reduce", segment_reduce},
    {"aten::_segment_reduce_backward", segment_reduce_backward},
    {"aten::var.correction", variance},
    {"aten::std.correction", variance},
    {"aten::var_mean.correction", variance_and_mean},
    {"aten::std_mean.correction", variance_and_mean},
};

}  // namespace

std::span<const ShapeRule> reduction_rules() { return kRules; }

}  // namespace aten_bridge
