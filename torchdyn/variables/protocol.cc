#include "torchdyn/variables/protocol.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/symbol.h"

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

// object.__eq__: identity.
bool has_plain_equality(const VarRef& value) {
  return Py_TYPE(value->object().get())->tp_richcompare == PyBaseObject_Type.tp_richcompare ||
         Py_TYPE(value->object().get())->tp_richcompare == PyType_Type.tp_richcompare;
}

std::string name_of_callable(PyBorrow function) {
  if (PyType_Check(function.get())) return reinterpret_cast<PyTypeObject*>(function.get())->tp_name;
  return PyEval_GetFuncName(function.get());
}

// Types of which equal objects are one.
bool is_single_of_torch(PyBorrow object) {
  const std::string_view type = Py_TYPE(object.get())->tp_name;
  return type == "torch.dtype" || type == "torch.layout" || type == "torch.memory_format";
}

// That two objects from outside are, or are not, one: what takes no weak reference is compared.
void guard_which(Translator& t, const VarRef& left, const VarRef& right) {
  if (Same::of(left->object()) && Same::of(right->object())) {
    t.guard_identity(*left);
    t.guard_identity(*right);
  } else {
    t.guards().add(left->source(), Alias{right->source(), left->object() == right->object()});
  }
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
  // A constant's slot gives NotImplemented for a tensor, and for a list that it multiplies.
  const std::string_view name = function;
  if ((name == "eq" || name == "ne") && dynamic_cast<const ObjectVariable*>(left.get()) &&
      dynamic_cast<const ObjectVariable*>(right.get()) && has_plain_equality(left) &&
      has_plain_equality(right))
    return boolean(is_same(t, left, right) == (name == "eq"));
  const bool is_right_s =
      is_tensor_variable(right) || (is_constant(left) && right->items() && name == "mul");
  if (const auto slot = left->slots().number; slot && !is_right_s)
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
  if (left == right) return true;
  const bool are_objects = dynamic_cast<const ObjectVariable*>(left.get()) &&
                           dynamic_cast<const ObjectVariable*>(right.get());
  if (are_objects) {
    guard_which(t, left, right);
    return left->object() == right->object();
  }
  const auto is_single = [](const VarRef& value) {
    return is_constant(value) &&
           (value->object().get() == Py_None || PyBool_Check(value->object().get()) ||
            value->object().get() == Py_Ellipsis || is_single_of_torch(value->object()));
  };
  const auto is_made = [](const VarRef& value) { return !value->source() && !value->object(); };
  if (is_made(left) || is_made(right)) return false;
  const auto is_found = [](const VarRef& value) {
    return value->source() && !value->object() &&
           !dynamic_cast<const NamedTupleVariable*>(value.get());
  };
  if (is_found(left) && is_found(right)) {  // one object is one variable
    t.guards().add(left->source(), Alias{right->source(), false});
    return false;
  }
  if (!is_single(left) && !is_single(right))
    break_graph(BreakReason::kValue,
                str_cat("whether a ", left->type_name(), " is that ", right->type_name()));
  if (is_constant(left) && is_constant(right)) return left->object() == right->object();
  t.guard_type(*(is_constant(left) ? right : left));
  return false;
}

bool is_none(Translator& t, const VarRef& value) { return is_same(t, value, none()); }

namespace {

// Containers are asked for what is known; classes ask for themselves.
VarRef key_for(const VarRef& object, const VarRef& key) {
  const bool takes_any = is_tensor_variable(object) ||
                         dynamic_cast<const ObjectVariable*>(object.get()) ||
                         dynamic_cast<const InstanceVariable*>(object.get());
  return takes_any ? key : fixed(key);
}

}  // namespace

VarRef get_item(Translator& t, const VarRef& object, const VarRef& given) {
  const VarRef key = key_for(object, given);
  if (const auto slot = object->slots().subscript) return slot(t, object, key);
  break_graph(BreakReason::kValue, str_cat("an item of ", object->type_name()));
}

void set_item(Translator& t, const VarRef& object, const VarRef& given, const VarRef& value) {
  const VarRef key = key_for(object, given);
  if (const auto slot = object->slots().set_item) return slot(t, object, key, value);
  break_graph(BreakReason::kSideEffect, str_cat("an item of ", object->type_name()));
}

void delete_item(Translator& t, const VarRef& object, const VarRef& given) {
  const VarRef key = key_for(object, given);
  if (const VarRef method =
          is_object(object) ? special_method(t, object, "__delitem__") : nullptr) {
    (void)call(t, method, {{key}, {}});
    return;
  }
  const auto* const dict = dynamic_cast<const DictVariable*>(object.get());
  if (!dict) break_graph(BreakReason::kSideEffect, str_cat("an item of ", object->type_name()));
  if (!dict->find(key)) raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{key});
  change(t, object, nullptr);
  dict->erase(key);
}

VarRef iterate(Translator& t, const VarRef& iterable) {
  if (const auto slot = iterable->slots().iterate) return slot(t, iterable);
  break_graph(BreakReason::kControlFlow, iterable->type_name());
}

VarRef next(Translator& t, const VarRef& iterator) {
  if (const auto* const known = dynamic_cast<const IteratorVariable*>(iterator.get()))
    return known->next(t);
  const VarRef method = is_object(iterator) ? special_method(t, iterator, "__next__") : nullptr;
  if (!method) break_graph(BreakReason::kControlFlow, iterator->type_name());
  try {
    return call(t, method, {});
  } catch (const Raised& raised) {
    if (!is_a(raised, PyBorrow(PyExc_StopIteration))) throw;
    return nullptr;
  }
}

std::vector<VarRef> all_items(Translator& t, const VarRef& iterable) {
  if (const auto* items = iterable->items()) return *items;
  const VarRef iterator = iterate(t, iterable);
  std::vector<VarRef> items;
  while (VarRef item = next(t, iterator)) items.push_back(std::move(item));
  return items;
}

bool contains(Translator& t, const VarRef& container, const VarRef& value) {
  if (const auto slot = container->slots().contains) return slot(t, container, value);
  if (const auto* const dict = dynamic_cast<const DictVariable*>(container.get()))
    return dict->find(fixed(value)) != nullptr;
  const VarRef known = is_constant(container) ? fixed(value) : value;
  if (is_constant(container) && is_constant(known)) {
    const int answer = PySequence_Contains(container->object().get(), known->object().get());
    if (answer < 0) throw PythonError();
    return answer == 1;
  }
  const auto* const items = container->items();
  if (!items) break_graph(BreakReason::kValue, str_cat("what is in a ", container->type_name()));
  for (const VarRef& item : *items) {
    const bool are_objects = dynamic_cast<const ObjectVariable*>(item.get()) &&
                             dynamic_cast<const ObjectVariable*>(value.get());
    if (item == value || (are_objects && is_same(t, item, value))) return true;
    if (are_objects && has_plain_equality(item) && has_plain_equality(value)) continue;
    if (truth(t, number(t, "eq", item, value))) return true;
  }
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
  if (container->source() && container->source()->kind() == Source::Kind::kContents)
    break_graph(BreakReason::kSideEffect, "what an object holds as a dict");
  if (container->source()) t.effects().change(container);
}

PyRef as_constant(const VarRef& value) {
  if (dynamic_cast<const ConstantVariable*>(value.get())) return PyRef::to(value->object());
  const auto* const dict = dynamic_cast<const DictVariable*>(value.get());
  if (!value->items() && !dict) return PyRef();
  if (dict) {
    PyRef made = owned(PyDict_New());
    for (const auto& [key, item] : dict->entries()) {
      const PyRef known = as_constant(item);
      if (!known) return PyRef();
      if (PyDict_SetItem(made.get(), key->object().get(), known.get()) != 0) throw PythonError();
    }
    return made;
  }
  std::vector<PyRef> items;
  for (const VarRef& item : *value->items()) {
    PyRef known = as_constant(item);
    if (!known) return PyRef();
    items.push_back(std::move(known));
  }
  PyRef tuple = tuple_of(items);
  const bool is_list = static_cast<const SequenceVariable&>(*value).is_list();
  return is_list ? owned(PySequence_List(tuple.get())) : std::move(tuple);
}

VarRef from_constant(PyRef object) {
  const bool is_list = PyList_CheckExact(object.get());
  if (is_list || PyTuple_CheckExact(object.get())) {
    std::vector<VarRef> items;
    for (const PyBorrow item : items_of(object)) items.push_back(from_constant(PyRef::to(item)));
    return std::make_shared<SequenceVariable>(is_list, std::move(items));
  }
  if (PyDict_CheckExact(object.get())) {
    DictVariable::Entries entries;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object.get(), &at, &key, &value) != 0;)
      entries.emplace_back(from_constant(PyRef::to(PyBorrow(key))),
                           from_constant(PyRef::to(PyBorrow(value))));
    return std::make_shared<DictVariable>(std::move(entries));
  }
  return std::make_shared<ConstantVariable>(std::move(object));
}

VarRef fold(Translator& t, PyBorrow function, const CallArgs& args) {
  if (std::any_of(args.positional.begin(), args.positional.end(), mentions_symbol)) {
    if (VarRef number = call_of_symbols(t, function, args)) return number;
    CallArgs constants{args};
    for (VarRef& arg : constants.positional) arg = fixed(arg);
    return fold(t, function, constants);
  }
  const auto known = [&](const VarRef& arg) {
    const bool is_iterator = dynamic_cast<const IteratorVariable*>(arg.get()) != nullptr;
    PyRef value = as_constant(
        mentions_symbol(arg) ? fixed(arg)
        : is_iterator ? std::make_shared<SequenceVariable>(/*is_list=*/true, all_items(t, arg))
                      : arg);
    if (!value)
      break_graph(BreakReason::kCall,
                  str_cat(name_of_callable(function), " of a ", arg->type_name()));
    return value;
  };
  std::vector<PyRef> values;
  for (const VarRef& arg : args.positional) values.push_back(known(arg));
  PyRef named;
  if (!args.named.empty()) named = owned(PyDict_New());
  for (const auto& [name, arg] : args.named)
    if (PyDict_SetItemString(named.get(), name.c_str(), known(arg).get()) != 0) throw PythonError();
  try {
    return from_constant(torchdyn::call(t.gil(), function, tuple_of(values), named));
  } catch (const PythonError&) {
    raise_python_error(t);
  }
}

void set_attribute(Translator& t, const VarRef& object, const std::string& name,
                   const VarRef& value) {
  if (const auto slot = object->slots().setattro) return slot(t, object, name, value);
  break_graph(BreakReason::kSideEffect, str_cat(object->type_name(), ".", name));
}

}  // namespace torchdyn::protocol
