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

Py_ssize_t checked_size(PyBorrow object) {
  const Py_ssize_t size = PyObject_Size(object.get());
  if (size < 0) throw PythonError();
  return size;
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

bool truth(Translator& t, const VarRef& value) {
  if (is_tensor_variable(value)) break_graph(BreakReason::kDataDependentJump, "");
  if (const auto slot = value->slots().truth) return truth(t, slot(t, value));
  if (value->slots().length) {
    const VarRef count = value->slots().length(t, value);
    return truth(t, count);
  }
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

void set_item(Translator& t, const VarRef& object, const VarRef& key, const VarRef& value) {
  if (const auto slot = object->slots().set_item) return slot(t, object, key, value);
  break_graph(BreakReason::kSideEffect, str_cat("an item of ", object->type_name()));
}

void delete_item(Translator& t, const VarRef& object, const VarRef& key) {
  const auto* const dict = dynamic_cast<const DictVariable*>(object.get());
  if (!dict) break_graph(BreakReason::kSideEffect, str_cat("an item of ", object->type_name()));
  if (!dict->find(key)) break_graph(BreakReason::kRaises, "a key that is not there");
  change(t, object, nullptr);
  dict->erase(key);
}

VarRef iterate(Translator& t, const VarRef& iterable) {
  if (const auto slot = iterable->slots().iterate) return slot(t, iterable);
  break_graph(BreakReason::kControlFlow, iterable->type_name());
}

std::vector<VarRef> all_items(Translator& t, const VarRef& iterable) {
  if (const auto* items = iterable->items()) return *items;
  const VarRef iterator = iterate(t, iterable);
  const auto* const known = dynamic_cast<const IteratorVariable*>(iterator.get());
  if (!known) break_graph(BreakReason::kControlFlow, iterator->type_name());
  std::vector<VarRef> items;
  while (VarRef item = known->next(t)) items.push_back(std::move(item));
  return items;
}

bool contains(Translator& t, const VarRef& container, const VarRef& value) {
  if (const auto* const dict = dynamic_cast<const DictVariable*>(container.get()))
    return dict->find(value) != nullptr;
  if (is_constant(container) && is_constant(value)) {
    const int answer = PySequence_Contains(container->object().get(), value->object().get());
    if (answer < 0) throw PythonError();
    return answer == 1;
  }
  const auto* const items = container->items();
  if (!items) break_graph(BreakReason::kValue, str_cat("what is in a ", container->type_name()));
  for (const VarRef& item : *items)
    if (item == value || truth(t, number(t, "eq", item, value))) return true;
  return false;
}

VarRef length(Translator& t, const VarRef& object) {
  if (const auto slot = object->slots().length) return slot(t, object);
  if (is_constant(object))
    return std::make_shared<ConstantVariable>(
        owned(PyLong_FromSsize_t(checked_size(object->object()))));
  break_graph(BreakReason::kValue, str_cat("the length of a ", object->type_name()));
}

namespace {

bool reaches(const VarRef& from, const VarRef& to) {
  if (from == to) return true;
  if (const auto* const dict = dynamic_cast<const DictVariable*>(from.get()))
    for (const auto& [key, value] : dict->entries())
      if (reaches(value, to)) return true;
  if (const auto* items = from->items())
    for (const VarRef& item : *items)
      if (reaches(item, to)) return true;
  return false;
}

}  // namespace

void change(Translator& t, const VarRef& container, const VarRef& value) {
  if (value && reaches(value, container))
    break_graph(BreakReason::kValue, "a container that is in itself");
  if (container->source()) t.effects().change(container);
}

void set_attribute(Translator& t, const VarRef& object, const std::string& name,
                   const VarRef& value) {
  if (const auto slot = object->slots().setattro) return slot(t, object, name, value);
  break_graph(BreakReason::kSideEffect, str_cat(object->type_name(), ".", name));
}

}  // namespace torchdyn::protocol
