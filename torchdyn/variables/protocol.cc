#include "torchdyn/variables/protocol.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn::protocol {
namespace {

using aten_bridge::str_cat;

// Python raises here, in eager as well.
[[noreturn]] void raises(const Variable& object, std::string_view what) {
  break_graph(BreakReason::kRaises, str_cat("'", object.type_name(), "' object ", what));
}

bool is_tensor_variable(const VarRef& value) {
  return dynamic_cast<const TensorVariable*>(value.get()) != nullptr;
}

bool is_constant(const VarRef& value) {
  return dynamic_cast<const ConstantVariable*>(value.get()) != nullptr;
}

}  // namespace

VarRef get_attribute(Translator& t, const VarRef& object, const std::string& name) {
  if (const auto slot = object->slots().getattro) return slot(t, object, name);
  break_graph(BreakReason::kAttribute, str_cat(object->type_name(), ".", name));
}

VarRef call(Translator& t, const VarRef& callable, const CallArgs& args) {
  if (const auto slot = callable->slots().call) return slot(t, callable, args);
  raises(*callable, "is not callable");
}

VarRef number(Translator& t, const char* function, const VarRef& left, const VarRef& right) {
  const PyRef operation = import_attribute(t.gil(), "operator", function);
  // A constant's slot gives NotImplemented for a tensor.
  if (const auto slot = left->slots().number; slot && !is_tensor_variable(right))
    return slot(t, operation, left, right);
  if (const auto slot = right->slots().number) return slot(t, operation, left, right);
  break_graph(BreakReason::kValue,
              str_cat(left->type_name(), " and ", right->type_name(), " of operator.", function));
}

bool truth(Translator&, const VarRef& value) {
  if (is_tensor_variable(value)) break_graph(BreakReason::kDataDependentJump, "");
  if (const auto* items = value->items()) return !items->empty();
  if (!is_constant(value))
    break_graph(BreakReason::kValue, str_cat("the truth of a ", value->type_name()));
  const int answer = PyObject_IsTrue(value->object().get());
  if (answer < 0) throw PythonError();
  return answer == 1;
}

bool is_same(Translator& t, const VarRef& left, const VarRef& right) {
  const auto is_single = [](const VarRef& value) {
    return is_constant(value) &&
           (value->object().get() == Py_None || PyBool_Check(value->object().get()));
  };
  if (!is_single(left) && !is_single(right))
    break_graph(BreakReason::kValue,
                str_cat("whether a ", left->type_name(), " is that ", right->type_name()));
  if (is_constant(left) && is_constant(right)) return left->object() == right->object();
  t.guard_type(*(is_constant(left) ? right : left));
  return false;
}

bool is_none(Translator& t, const VarRef& value) {
  return is_same(t, value, std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None))));
}

VarRef get_item(Translator& t, const VarRef& object, const VarRef& key) {
  if (const auto slot = object->slots().subscript) return slot(t, object, key);
  break_graph(BreakReason::kValue, str_cat("an item of ", object->type_name()));
}

}  // namespace torchdyn::protocol
