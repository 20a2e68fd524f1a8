// Elementwise operators without a C++ Meta kernel.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/result_type_native.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

Types unary(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {elementwise({self}, self.scalar_type())};
}

Types unary_to_bool(Arguments a) { return {elementwise({tensor(a, 0)}, at::kBool)}; }

// Two tensors, and numbers: grad and self of many backward formulas.
Types binary(Arguments a) {
  const at::Tensor &x = tensor(a, 0), &y = tensor(a, 1);
  return {elementwise({x, y}, at::native::result_type(x, y))};
}

Types binary_with_number(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {elementwise({self}, at::native::result_type(self, a[1].toScalar()))};
}

Types binary_to_bool(Arguments a) { return {elementwise({tensor(a, 0), tensor(a, 1)}, at::kBool)}; }

Types absolute(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {elementwise({self}, c10::toRealValueType(self.scalar_type()))};
}

// (grad_output, self, target, reduction, ...): zeros of self's sizes, filled
Types loss_backward(Arguments a) { return {dense(tensor(a, 1).sizes().vec(), tensor(a, 1))}; }

Types where(Arguments a) {
  const at::Tensor &x = tensor(a, 1), &y = tensor(a, 2);
  return {elementwise({tensor(a, 0), x, y}, at::native::result_type(x, y))};
}

// (self, p, train?): the values and which of them were kept.
Types native_dropout(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {like(self), like(self, at::kBool)};
}

Types native_dropout_backward(Arguments a) {
  return {elementwise({tensor(a, 0), tensor(a, 1)}, tensor(a, 0).scalar_type())};
}

// at::empty_like(self, contiguous), drawn into
Types bernoulli(Arguments a) { return {dense(tensor(a, 0).sizes().vec(), tensor(a, 0))}; }

constexpr ShapeRule kRules[] = {
    {"aten::relu", unary},
    {"aten::abs", absolute},
    {"aten::nan_to_num", unary},
    {"aten::hardtanh", unary},
    {"aten::hardswish", unary},
    {"aten::isnan", unary_to_bool},
    {"aten::isinf", unary_to_bool},
    {"aten::logical_not", unary_to_bool},
    {"aten::logical_and", binary_to_bool},
    {"aten::logical_or", binary_to_bool},
    {"aten::logical_xor", binary_to_bool},
    {"aten::rsub.Tensor", binary},
    {"aten::floor_divide", binary},
    {"aten::floor_divide.Scalar", binary_with_number},
    {"aten::hardtanh_backward", binary},
    {"aten::hardswish_backward", binary},
    {"aten::where.self", where},
    {"aten::mse_loss_backward", loss_backward},
    {"aten::smooth_l1_loss_backward", loss_backward},
    {"aten::native_dropout", native_dropout},
    {"aten::native_dropout_backward", native_dropout_backward},
    {"aten::bernoulli", bernoulli},
    {"aten::bernoulli.p", bernoulli},
};

}  // namespace

std::span<const ShapeRule> pointwise_rules() { return kRules; }

}  // namespace aten_bridge
