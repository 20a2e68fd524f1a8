#include "aten_bridge/trace/boxed.h"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/capture.h"

namespace aten_bridge {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using Replace = absl::FunctionRef<at::Tensor(const at::Tensor&)>;

bool is_defined(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

template <class Element>
void map_list(c10::IValue& value, const c10::List<Element>& list, Replace replace) {
  c10::List<Element> replaced;
  bool changed = false;
  for (const Element& element : list.vec()) {
    const OptionalTensor tensor = element;
    if (!is_defined(tensor)) {
      replaced.push_back(element);
      continue;
    }
    at::Tensor next = replace(*tensor);
    changed |= !next.is_same(*tensor);
    replaced.push_back(std::move(next));
  }
  if (changed) value = std::move(replaced);
}

}  // namespace

void for_each_tensor(std::span<const c10::IValue> values,
                     absl::FunctionRef<void(const at::Tensor&)> visit) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) visit(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector())
        if (tensor.defined()) visit(tensor);
    } else if (value.isOptionalTensorList()) {
      for (const OptionalTensor& tensor : value.toOptionalTensorVector())
        if (is_defined(tensor)) visit(*tensor);
    }
  }
}

void map_tensors(std::span<c10::IValue> values, Replace replace) {
  for (c10::IValue& value : values) {
    if (value.isTensor()) {
      if (!value.toTensor().defined()) continue;
      at::Tensor next = replace(value.toTensor());
      if (!next.is_same(value.toTensor())) value = std::move(next);
    } else if (value.isTensorList()) {
      map_list(value, value.toTensorList(), replace);
    } else if (value.isOptionalTensorList()) {
      map_list(value, value.toOptionalTensorList(), replace);
    }
  }
}

std::string name_of(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  if (name.overload_name.empty()) return name.name;
  return str_cat(name.name, ".", name.overload_name);
}

c10::OperatorHandle find_operator(std::string_view name) {
  const size_t dot = name.find('.', name.find("::"));
  const std::string base(name.substr(0, dot));
  const std::string overload(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  auto op = c10::Dispatcher::singleton().findSchema({base, overload});
  if (!op) throw CaptureError(str_cat("there is no operator ", name));
  return *op;
}

std::vector<at::Tensor> flatten(std::span<const c10::IValue> results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& result : results) {
    if (result.isTensorList()) {
      for (const at::Tensor& tensor : result.toTensorVector()) tensors.push_back(tensor);
    } else {
      tensors.push_back(result.isTensor() ? result.toTensor() : at::Tensor());
    }
  }
  return tensors;
}

bool draws_random_numbers(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

bool mutates(const c10::FunctionSchema& schema) { return schema.is_mutable(); }

bool has_out(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const c10::Argument& a) { return a.is_out(); });
}

bool returns_view(const c10::FunctionSchema& schema) {
  if (schema.name() == "aten::_unsafe_view") return true;  // so it does, and promises not to matter
  const auto& returns = schema.returns();
  return std::any_of(returns.begin(), returns.end(), [](const c10::Argument& r) {
    return r.alias_info() != nullptr && !r.alias_info()->isWrite();
  });
}

c10::DispatchKeySet keys_above_fake() {
  static const c10::DispatchKeySet keys =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
      c10::DispatchKeySet({c10::DispatchKey::DeferredInit, c10::DispatchKey::Functionalize});
  return keys;
}

c10::DispatchKeySet keys_down_to_fake() {
  return keys_above_fake() | c10::DispatchKeySet(c10::DispatchKey::Fake);
}

}  // namespace aten_bridge
