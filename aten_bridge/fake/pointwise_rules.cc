// Elementwise operators without a C++ Meta kernel, or whose own does not check what others do.
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/result_type_native.h>
#include <c10/core/DefaultDtype.h>

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

Types number_with_binary(Arguments a) {
  const at::Tensor& other = tensor(a, 1);
  return {elementwise({other}, at::native::result_type(a[0].toScalar(), other))};
}

// (element, test_elements, ...)
Types one_bool(Arguments a) { return {dense({}, at::kBool, tensor(a, 1))}; }

// (real, imag), (abs, angle)
Types complex(Arguments a) {
  const at::Tensor &x = tensor(a, 0), &y = tensor(a, 1);
  return {elementwise({x, y}, c10::toComplexType(x.scalar_type()))};
}

Types binary_to_bool(Arguments a) { return {elementwise({tensor(a, 0), tensor(a, 1)}, at::kBool)}; }

Types absolute(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {elementwise({self}, c10::toRealValueType(self.scalar_type()))};
}

// Integers become the default floating type.
at::ScalarType floating(at::ScalarType type) {
  return c10::isIntegralType(type, /*includeBool=*/true) ? c10::get_default_dtype_as_scalartype()
                                                         : type;
}

Types unary_to_floating(Arguments a) {
  return {elementwise({tensor(a, 0)}, floating(tensor(a, 0).scalar_type()))};
}

Types angle(Arguments a) {
  return {elementwise({tensor(a, 0)}, floating(c10::toRealValueType(tensor(a, 0).scalar_type())))};
}

// (self, noise, lower, upper, training, generator?)
Types rrelu_with_noise(Arguments a) { return {dense(tensor(a, 0).sizes().vec(), tensor(a, 0))}; }

// The new noise is a result too.
Types rrelu_with_noise_functional(Arguments a) { return {like(tensor(a, 0)), like(tensor(a, 1))}; }

Types where(Arguments a) {
  const at::Tensor &x = tensor(a, 1), &y = tensor(a, 2);
  return {elementwise({tensor(a, 0), x, y}, at::native::result_type(x, y))};
}

// (self, p, train?): the values and which of them were kept.
Types native_dropout(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  return {like(self), like(self, at::kBool)};
}

// (grad_output, mask, scale)
Types native_dropout_backward(Arguments a) {
  return {elementwise({tensor(a, 0), tensor(a, 1)}, floating(tensor(a, 0).scalar_type()))};
}

// at::empty_like(self, contiguous), drawn into
Types bernoulli(Arguments a) { return {dense(tensor(a, 0).sizes().vec(), tensor(a, 0))}; }

// (self, *, approximate)
Types gelu(Arguments a) {
  const std::string& approximate = a[1].toStringRef();
  TORCH_CHECK(approximate == "none" || approximate == "tanh",
              "approximate argument must be either none or tanh.");
  return unary(a);
}

// (self, mask, value)
Types masked_fill(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  TORCH_CHECK(tensor(a, 2).dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              tensor(a, 2).dim(), " dimension(s).");
  return {dense(at::infer_size(self.sizes(), tensor(a, 1).sizes()), self)};
}

constexpr ShapeRule kRules[] = {
    {"aten::relu", unary},
    {"aten::abs", absolute},
    {"aten::nan_to_num", unary},
    {"aten::hardtanh", unary},
    {"aten::hardswish", unary},
    {"aten::gelu", gelu},
    {"aten::masked_fill.Tensor", masked_fill},
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
    {"aten::remainder.Scalar_Tensor", number_with_binary},
    {"aten::isin.Scalar_Tensor", one_bool},
    {"aten::complex", complex},
    {"aten::polar", complex},
    {"aten::mish_backward", binary},
    {"aten::logit", unary_to_floating},
    {"aten::angle", angle},
    {"aten::rrelu_with_noise", rrelu_with_noise},
    {"aten::rrelu_with_noise_functional", rrelu_with_noise_functional},
    {"aten::where.self", where},
    {"aten::native_dropout", native_dropout},
    {"aten::native_dropout_backward", native_dropout_backward},
    {"aten::bernoulli", bernoulli},
    {"aten::bernoulli.p", bernoulli},
};

}  // namespace

std::span<const ShapeRule> pointwise_rules() { return kRules; }

}  // namespace aten_bridge
