#include <algorithm>

#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef constant(PyRef value) { return std::make_shared<ConstantVariable>(std::move(value)); }

[[noreturn]] void unknown(PyBorrow function, std::string_view why) {
  const char* const name = PyType_Check(function.get())
                               ? reinterpret_cast<PyTypeObject*>(function.get())->tp_name
                               : PyEval_GetFuncName(function.get());
  break_graph(BreakReason::kCall, std::string(name) + " " + std::string(why));
}

void expect_positional(PyBorrow function, const CallArgs& args, size_t least, size_t most) {
  if (!args.named.empty() || args.positional.size() < least || args.positional.size() > most)
    unknown(function, "with these arguments");
}

// A function of constants that does nothing else.
VarRef fold(Translator& t, PyBorrow function, const CallArgs& args) {
  std::vector<PyRef> values;
  for (const VarRef& arg : args.positional) {
    const auto* const known = dynamic_cast<const ConstantVariable*>(arg.get());
    if (!known) unknown(function, "of a " + arg->type_name());
    values.push_back(PyRef::to(known->object()));
  }
  if (!args.named.empty()) unknown(function, "with named arguments");
  return constant(call(t.gil(), function, tuple_of(values)));
}

VarRef length(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  return protocol::length(t, args.positional[0]);
}

VarRef iterator(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  return protocol::iterate(t, args.positional[0]);
}

VarRef enumerate(Translator& t, PyBorrow function, const CallArgs& args) {
  CallArgs all{args.positional, {}};
  for (const auto& [name, value] : args.named)
    if (name == "start" && all.positional.size() == 1) all.positional.push_back(value);
  if (all.positional.size() != args.positional.size() + args.named.size())
    unknown(function, "with these arguments");
  expect_positional(function, all, 1, 2);
  long start = 0;
  if (all.positional.size() == 2) {
    const PyBorrow given = all.positional[1]->object();
    if (!given || !PyLong_CheckExact(given.get())) unknown(function, "from an unknown start");
    start = PyLong_AsLong(given.get());
    if (PyErr_Occurred()) throw PythonError();
  }
  return std::make_shared<EnumerateIterator>(protocol::iterate(t, all.positional[0]), start);
}

VarRef zip(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 64);
  std::vector<VarRef> inner;
  for (const VarRef& arg : args.positional) inner.push_back(protocol::iterate(t, arg));
  return std::make_shared<ZipIterator>(std::move(inner));
}

template <bool is_list>
VarRef sequence(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 0, 1);
  std::vector<VarRef> items;
  if (!args.positional.empty()) items = protocol::all_items(t, args.positional[0]);
  return std::make_shared<SequenceVariable>(is_list, std::move(items));
}

VarRef reversed(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 1, 1);
  if (!args.positional[0]->items()) unknown(function, "of a " + args.positional[0]->type_name());
  std::vector<VarRef> items = protocol::all_items(t, args.positional[0]);
  std::reverse(items.begin(), items.end());
  return std::make_shared<SequenceIterator>(
      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items)));
}

// Null: not known.
PyTypeObject* type_of(Translator& t, const VarRef& value) {
  if (const auto* s = dynamic_cast<const SequenceVariable*>(value.get()))
    return s->is_list() ? &PyList_Type : &PyTuple_Type;
  if (dynamic_cast<const DictVariable*>(value.get())) return &PyDict_Type;
  if (!value->object()) return nullptr;
  t.guard_type(*value);
  return Py_TYPE(value->object().get());
}

// Whether it is an instance is its type's to say: CPython's type.__instancecheck__.
bool is_instance(Translator& t, PyBorrow function, const VarRef& value, const VarRef& of) {
  if (const auto* types = of->items())
    return std::any_of(types->begin(), types->end(),
                       [&](const VarRef& type) { return is_instance(t, function, value, type); });
  const PyBorrow type = of->object();
  if (!type || !PyType_Check(type.get())) unknown(function, "of a type that is not known");
  t.guard_identity(*of);
  const bool is_tensor_type =
      PyRef(import_attribute(t.gil(), "torch", "Tensor")).get() == type.get();
  if (dynamic_cast<const TensorVariable*>(value.get()) && is_tensor_type) return true;
  PyTypeObject* const known = type_of(t, value);
  if (!known || (Py_TYPE(type.get()) != &PyType_Type && !is_tensor_type))
    unknown(function, "of " + value->type_name());
  return PyType_IsSubtype(known, reinterpret_cast<PyTypeObject*>(type.get())) != 0;
}

VarRef isinstance(Translator& t, PyBorrow function, const CallArgs& args) {
  expect_positional(function, args, 2, 2);
  const bool answer = is_instance(t, function, args.positional[0], args.positional[1]);
  return constant(PyRef::to(PyBorrow(answer ? Py_True : Py_False)));
}

// Of torch.jit: a trace is no place to capture in.
VarRef tracing_state(Translator& t, PyBorrow function, const CallArgs& args) {
  const VarRef state = fold(t, function, args);
  if (state->object().get() != Py_None) break_graph(BreakReason::kMode, "torch.jit.trace");
  return state;
}

struct Row {
  const char *module, *name;
  BuiltinHandler handler;
};

constexpr Row kRows[] = {
    {"builtins", "abs", fold},
    {"builtins", "bool", fold},
    {"builtins", "enumerate", enumerate},
    {"builtins", "float", fold},
    {"builtins", "int", fold},
    {"builtins", "isinstance", isinstance},
    {"builtins", "iter", iterator},
    {"builtins", "len", length},
    {"builtins", "list", sequence<true>},
    {"builtins", "max", fold},
    {"builtins", "min", fold},
    {"builtins", "range", fold},
    {"builtins", "reversed", reversed},
    {"builtins", "round", fold},
    {"builtins", "str", fold},
    {"builtins", "tuple", sequence<false>},
    {"builtins", "zip", zip},
    {"math", "ceil", fold},
    {"math", "exp", fold},
    {"math", "floor", fold},
    {"math", "log", fold},
    {"math", "log2", fold},
    {"math", "pow", fold},
    {"math", "sqrt", fold},
    {"operator", "index", fold},
    {"torch._C", "_get_tracing_state", tracing_state},
};

std::string_view name_of(PyBorrow object) {
  if (PyType_Check(object.get())) return reinterpret_cast<PyTypeObject*>(object.get())->tp_name;
  if (!PyCFunction_Check(object.get())) return "";
  return reinterpret_cast<PyCFunctionObject*>(object.get())->m_ml->ml_name;
}

}  // namespace

BuiltinHandler builtin_handler(const Gil& gil, PyBorrow object) {
  const std::string_view name = name_of(object);
  for (const Row& row : kRows)
    if (row.name == name && PyBorrow(import_attribute(gil, row.module, row.name)) == object)
      return row.handler;
  return nullptr;
}

}  // namespace torchdyn
