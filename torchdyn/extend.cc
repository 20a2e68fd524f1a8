#include "torchdyn/extend.h"

#include <optional>
#include <sstream>
#include <stdexcept>

#include <ATen/core/dispatch/Dispatcher.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/decompose/decompose.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/lowering/element.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

std::string text(const c10::FunctionSchema& schema) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // rather than a part of it
  out << schema;
  return out.str();
}

[[noreturn]] void refuse(const c10::OperatorHandle& op, const std::string& why) {
  throw std::invalid_argument(str_cat(text(op.schema()), ": ", why));
}

c10::OperatorHandle find(const std::string& name) {
  try {
    return aten_bridge::find_operator(name);
  } catch (const aten_bridge::CaptureError&) {
    throw std::invalid_argument("there is no operator " + name);
  }
}

// An operator that capture sees, by itself.
c10::OperatorHandle find_functional(const std::string& name) {
  const c10::OperatorHandle op = find(name);
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
    refuse(op, "LibTorch expresses it by other operators before it is recorded; define those");
  if (aten_bridge::mutates(op.schema())) refuse(op, "it writes to its arguments");
  if (aten_bridge::returns_view(op.schema())) refuse(op, "it gives a view of its arguments");
  return op;
}

bool is_of_one_element(const c10::Argument& argument) {
  switch (argument.type()->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::BoolType:
      return true;
    default:
      return false;
  }
}

}  // namespace

void add_decomposition(const std::string& op,
                       std::function<void(std::vector<c10::IValue>&)> function) {
  find_functional(op);
  aten_bridge::add_decomposition(op, std::move(function));
}

std::vector<std::pair<std::string, int>> scalar_operators() {
  std::vector<std::pair<std::string, int>> operators;
  for (const inductor::ScalarOpRow& row : inductor::scalar_ops())
    operators.emplace_back(row.name, row.arity);
  return operators;
}

void add_lowering(const std::string& name, std::string_view element) {
  const c10::OperatorHandle op = find_functional(name);
  const c10::FunctionSchema& schema = op.schema();
  std::vector<std::string> arguments;
  for (const c10::Argument& a : schema.arguments()) {
    if (!is_of_one_element(a))
      refuse(op, str_cat("its argument ", a.name(), " (", a.type()->str(),
                         ") is neither a tensor nor a number; a decomposition can read it"));
    arguments.push_back(a.name());
  }
  for (const c10::Argument& r : schema.returns())
    if (r.type()->kind() != c10::TypeKind::TensorType) refuse(op, "its results are not tensors");
  auto function = inductor::parse_element(element);
  if (!function.ok()) refuse(op, std::string(function.status().message()));
  if (function->arguments != arguments)
    refuse(op, "the element's arguments are not the operator's");
  if (function->results.size() != schema.returns().size())
    refuse(op, str_cat("it has ", schema.returns().size(), " results, the element ",
                       function->results.size()));
  aten_bridge::add_decomposition(name, nullptr);  // one that is in the way
  inductor::add_lowering(name, *std::move(function));
}

}  // namespace torchdyn
