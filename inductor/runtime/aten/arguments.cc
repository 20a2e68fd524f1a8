#include "inductor/runtime/aten/arguments.h"

#include <ATen/ScalarOps.h>

#include "absl/strings/str_cat.h"

namespace inductor {
namespace {

struct Mismatch {};

// A number in the place of a tensor: promotes as a number, as eager's wrapped numbers do.
at::Tensor wrapped_number(const at::Scalar& number) {
  at::Tensor tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

c10::Device to_c10(const Device& device) {
  return device.kind == Device::Kind::kCpu
             ? c10::Device(c10::DeviceType::CPU)
             : c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device.index));
}

// One converter a kind of argument; `type` is the schema's, None already taken off.
struct Converter {
  const c10::Type& type;
  bool is_optional;

  c10::TypeKind kind() const { return type.kind(); }
  c10::TypeKind element() const {
    const auto* list = type.castRaw<c10::ListType>();
    if (!list) throw Mismatch();
    return list->getElementType()->kind();
  }

  template <class Number>
  c10::IValue number(Number value) const {
    if (kind() == c10::TypeKind::TensorType) return wrapped_number(value);
    return value;
  }

  // Where a schema demands a tensor, none is an undefined one.
  c10::IValue operator()(std::monostate) const {
    const bool demanded = !is_optional && kind() == c10::TypeKind::TensorType;
    return demanded ? c10::IValue(at::Tensor()) : c10::IValue();
  }
  c10::IValue operator()(const TensorRef&) const { throw Mismatch(); }
  c10::IValue operator()(const std::vector<std::optional<TensorRef>>&) const { throw Mismatch(); }
  c10::IValue operator()(const SymExpr& v) const {
    const int64_t value = v.as_constant();
    if (kind() == c10::TypeKind::TensorType) return wrapped_number(value);
    if (kind() == c10::TypeKind::FloatType) return static_cast<double>(value);
    if (kind() == c10::TypeKind::BoolType) return value != 0;
    return value;
  }
  c10::IValue operator()(double v) const { return number(v); }
  c10::IValue operator()(bool v) const { return number(v); }
  c10::IValue operator()(std::complex<double> v) const { return number(c10::complex<double>(v)); }
  c10::IValue operator()(const std::string& v) const { return v; }
  c10::IValue operator()(DType v) const { return int64_t{aten_bridge::scalar_type_number(v)}; }
  c10::IValue operator()(Device v) const { return to_c10(v); }
  c10::IValue operator()(const std::vector<SymExpr>& v) const {
    std::vector<double> floating;
    c10::List<int64_t> integers;
    c10::List<at::Scalar> scalars;
    for (const SymExpr& e : v) {
      floating.push_back(static_cast<double>(e.as_constant()));
      integers.push_back(e.as_constant());
    }
    if (element() == c10::TypeKind::IntType || element() == c10::TypeKind::SymIntType)
      return integers;
    if (element() == c10::TypeKind::FloatType) return (*this)(floating);
    if (element() == c10::TypeKind::BoolType && v.empty()) return c10::List<bool>();
    if (element() != c10::TypeKind::NumberType) throw Mismatch();
    for (const SymExpr& e : v) scalars.push_back(e.as_constant());
    return scalars;
  }
  c10::IValue operator()(const std::vector<double>& v) const {
    if (element() == c10::TypeKind::OptionalType && v.empty())
      return c10::List<std::optional<at::Scalar>>();
    if (element() == c10::TypeKind::NumberType) {
      c10::List<at::Scalar> scalars;
      for (double d : v) scalars.push_back(d);
      return scalars;
    }
    c10::List<double> list;
    for (double d : v) list.push_back(d);
    return list;
  }
  c10::IValue operator()(const std::vector<bool>& v) const {
    c10::List<bool> list;
    for (bool b : v) list.push_back(b);
    return list;
  }
};

}  // namespace

absl::StatusOr<c10::IValue> to_ivalue(const aten_bridge::ArgumentOf<TensorRef>& argument,
                                      const c10::TypePtr& type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  try {
    const c10::Type& inner = optional ? *optional->getElementType() : *type;
    return std::visit(Converter{inner, optional != nullptr}, argument);
  } catch (const Mismatch&) {
    return absl::InvalidArgumentError(absl::StrCat("an argument does not fit ", type->str()));
  }
}

}  // namespace inductor
