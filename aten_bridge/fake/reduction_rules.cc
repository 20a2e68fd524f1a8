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

// (self, *, dtype?)
Types product(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  if (!a[1].isNone()) return {dense({}, a[1].toScalarType(), self)};
  const bool integral = c10::isIntegralType(self.scalar_type(), /*includeBool=*/true);
  return {dense({}, integral ? at::kLong : self.scalar_type(), self)};
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
    {"aten::var.correction", variance},
    {"aten::std.correction", variance},
    {"aten::var_mean.correction", variance_and_mean},
    {"aten::std_mean.correction", variance_and_mean},
};

}  // namespace

std::span<const ShapeRule> reduction_rules() { return kRules; }

}  // namespace aten_bridge
