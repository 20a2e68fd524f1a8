#include "aten_bridge/trace/convert.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/capture.h"

namespace aten_bridge {
namespace {

std::vector<SymExpr> to_exprs(c10::IntArrayRef values) { return {values.begin(), values.end()}; }

// ScalarType, Layout and MemoryFormat travel as ints; only the "real" type tells them apart.
c10::TypeKind kind_of(const c10::Argument& spec) {
  c10::TypePtr type = spec.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind();
}

// The element type of a (possibly optional) list argument.
c10::TypePtr element_of(const c10::Argument& spec) {
  c10::TypePtr type = spec.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  auto list = type->cast<c10::ListType>();
  TD_CHECK(list != nullptr, "a list for ", spec.name(), ", which is ", type->str());
  return list->getElementType();
}

template <class Tensors, class NameTensor>
ArgumentValue name_all(const Tensors& tensors, const NameTensor& name_tensor) {
  std::vector<std::optional<Value>> values;
  for (const auto& element : tensors) {
    const at::Tensor tensor = std::optional<at::Tensor>(element).value_or(at::Tensor());
    const ArgumentValue named = tensor.defined() ? name_tensor(tensor) : ArgumentValue();
    if (std::holds_alternative<std::monostate>(named)) {
      values.push_back(std::nullopt);
    } else if (const Value* value = std::get_if<Value>(&named)) {
      values.push_back(*value);
    } else {
      throw CaptureError("a number stands in a list of tensors");
    }
  }
  return values;
}

int64_t concrete(const c10::SymInt& size) {
  const std::optional<int64_t> value = size.maybe_as_int();
  if (!value) throw CaptureError("a size is symbolic");
  return *value;
}

at::Scalar to_scalar(const ArgumentValue& argument) {
  if (auto* i = std::get_if<SymExpr>(&argument)) return i->as_constant();
  if (auto* d = std::get_if<double>(&argument)) return *d;
  if (auto* b = std::get_if<bool>(&argument)) return *b;
  if (auto* c = std::get_if<std::complex<double>>(&argument)) return c10::complex<double>(*c);
  TD_CHECK(false, "an argument is no number");
}

c10::IValue to_tensor_list(const std::vector<std::optional<Value>>& values,
                           const c10::Argument& spec,
                           absl::FunctionRef<at::Tensor(Value)> tensor_of) {
  if (element_of(spec)->kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& v : values)
      list.push_back(v ? std::optional<at::Tensor>(tensor_of(*v)) : std::nullopt);
    return list;
  }
  c10::List<at::Tensor> list;
  for (const auto& v : values) list.push_back(v ? tensor_of(*v) : at::Tensor());
  return list;
}

c10::IValue to_int_list(const std::vector<SymExpr>& values, const c10::Argument& spec) {
  // An empty list is written alike for every element type.
  if (values.empty() && element_of(spec)->kind() == c10::TypeKind::FloatType)
    return c10::List<double>();
  if (values.empty() && element_of(spec)->kind() == c10::TypeKind::BoolType)
    return c10::List<bool>();
  if (values.empty() && element_of(spec)->kind() == c10::TypeKind::TensorType)
    return c10::List<at::Tensor>();
  c10::List<int64_t> list;
  for (const SymExpr& v : values) list.push_back(v.as_constant());
  return list;
}

c10::IValue to_number(const ArgumentValue& argument, c10::TypeKind kind) {
  const at::Scalar scalar = to_scalar(argument);
  if (kind == c10::TypeKind::TensorType) return at::native::wrapped_scalar_tensor(scalar);
  if (kind == c10::TypeKind::FloatType) return scalar.toDouble();
  return scalar;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

DType to_dtype(c10::ScalarType type) {
  const std::optional<DType> dtype = from_scalar_type_number(static_cast<int>(type));
  if (!dtype) throw CaptureError(str_cat("tensors of type ", c10::toString(type)));
  return *dtype;
}

c10::ScalarType to_scalar_type(DType dtype) {
  return static_cast<c10::ScalarType>(scalar_type_number(dtype));
}

Device to_device(const c10::Device& device) {
  if (device.is_cpu()) return {Device::Kind::kCpu, 0};
  if (device.is_cuda() && device.has_index()) return {Device::Kind::kCuda, device.index()};
  if (device.is_cuda())
    return {Device::Kind::kCuda, c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice().index()};
  throw CaptureError(str_cat("tensors on the device ", device.str()));
}

c10::Device to_c10_device(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

TensorType type_of(const at::Tensor& tensor) { return type_of(tensor, to_device(tensor.device())); }

TensorType type_of(const at::Tensor& meta, const Device& device) {
  return {to_dtype(meta.scalar_type()), device, to_exprs(meta.sizes()), to_exprs(meta.strides())};
}

ArgumentValue wrapped_number(const at::Tensor& tensor) {
  TD_CHECK(tensor.unsafeGetTensorImpl()->is_wrapped_number(), "not a wrapped number");
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Double:
      return *tensor.const_data_ptr<double>();
    case c10::ScalarType::Long:
      return SymExpr(*tensor.const_data_ptr<int64_t>());
    case c10::ScalarType::Bool:
      return *tensor.const_data_ptr<bool>();
    case c10::ScalarType::ComplexDouble:
      return std::complex<double>(*tensor.const_data_ptr<c10::complex<double>>());
    default:
      throw CaptureError(str_cat("a number of type ", c10::toString(tensor.scalar_type())));
  }
}

ArgumentValue to_argument(const c10::IValue& value, const c10::Argument& spec,
                          absl::FunctionRef<ArgumentValue(const at::Tensor&)> name_tensor) {
  if (value.isNone()) return std::monostate();
  if (value.isTensor())
    return value.toTensor().defined() ? name_tensor(value.toTensor()) : ArgumentValue();
  if (value.isInt()) {
    if (kind_of(spec) != c10::TypeKind::ScalarTypeType) return SymExpr(value.toInt());
    return to_dtype(static_cast<c10::ScalarType>(value.toInt()));
  }
  if (value.isBool()) return value.toBool();
  if (value.isDouble()) return value.toDouble();
  if (value.isIntList()) return to_exprs(value.toIntVector());
  if (value.isTensorList()) return name_all(value.toTensorVector(), name_tensor);
  if (value.isOptionalTensorList()) return name_all(value.toOptionalTensorVector(), name_tensor);
  if (value.isBoolList()) {
    const c10::List<bool> list = value.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isSymInt()) return SymExpr(concrete(value.toSymInt()));
  if (value.isSymIntList()) {
    std::vector<SymExpr> sizes;
    for (const c10::SymInt& size : value.toSymIntVector()) sizes.push_back(concrete(size));
    return sizes;
  }
  if (value.isDevice()) return to_device(value.toDevice());
  if (value.isString()) return value.toStringRef();
  if (value.isComplexDouble()) return std::complex<double>(value.toComplexDouble());
  if (value.isGenerator()) {
    if (!value.toGenerator().defined()) return std::monostate();
    throw CaptureError("it is given a generator; only the default one can be captured");
  }
  if (value.isList() && value.toListRef().empty()) return std::vector<SymExpr>();
  throw CaptureError(str_cat("its argument '", spec.name(), "' is a ", value.tagKind()));
}

c10::IValue to_ivalue(const ArgumentValue& argument, const c10::Argument& spec,
                      absl::FunctionRef<at::Tensor(Value)> tensor_of) {
  const bool optional = spec.real_type()->kind() == c10::TypeKind::OptionalType;
  const c10::TypeKind kind = kind_of(spec);
  return std::visit(
      Overloaded{
          [&](std::monostate) {
            return kind == c10::TypeKind::TensorType && !optional ? c10::IValue(at::Tensor())
                                                                  : c10::IValue();
          },
          [&](Value v) { return c10::IValue(tensor_of(v)); },
          [&](const std::vector<std::optional<Value>>& values) {
            return to_tensor_list(values, spec, tensor_of);
          },
          [&](const std::vector<SymExpr>& values) { return to_int_list(values, spec); },
          [&](const std::vector<double>& values) { return c10::IValue(values); },
          [&](const std::vector<bool>& values) {
            c10::List<bool> list;
            for (bool b : values) list.push_back(b);
            return c10::IValue(list);
          },
          [&](const std::string& text) { return c10::IValue(text); },
          [&](DType dtype) { return c10::IValue(to_scalar_type(dtype)); },
          [&](const Device& device) { return c10::IValue(to_c10_device(device)); },
          [&](const auto&) { return to_number(argument, kind); },
      },
      argument);
}

}  // namespace aten_bridge
