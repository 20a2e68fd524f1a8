// Objects from outside: what they hold is read where they keep it, and guarded.
#include <algorithm>
#include <array>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/inline_call.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/numpy_numbers.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/record.h"
#include "torchdyn/variables/special_methods.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

// Modules of functions that compute with tensors and do nothing else.
constexpr std::array<std::string_view, 8> kFunctionModules = {
    "torch",         "torch.functional", "torch.nn.functional",
    "torch._C._nn",  "torch._C._linalg", "torch._C._special",
    "torch._C._fft", "torch._VF"};

// Functions that make tensors without any.
constexpr std::array<std::string_view, 17> kFactories = {
    "arange",   "empty",         "eye",    "full",         "full_like", "linspace",
    "logspace", "ones",          "rand",   "randint",      "randn",     "randperm",
    "range",    "scalar_tensor", "tensor", "tril_indices", "zeros"};

bool is_factory(PyBorrow object) {
  if (!PyCFunction_Check(object.get())) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(object.get())->m_ml->ml_name;
  return std::find(kFactories.begin(), kFactories.end(), name) != kFactories.end();
}

bool has_numpy_number(const VarRef& value) {
  if (const auto* items = value->items())
    return std::any_of(items->begin(), items->end(), has_numpy_number);
  return value->object() && is_numpy_number_type(Py_TYPE(value->object().get()));
}

// torch.tensor and torch.as_tensor alone take NumPy's numbers with their dtypes.
void expect_pythons_numbers(PyBorrow function, const CallArgs& args) {
  if (!PyCFunction_Check(function.get())) return;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(function.get())->m_ml->ml_name;
  if (name.ends_with("tensor") &&
      std::any_of(args.positional.begin(), args.positional.end(), has_numpy_number))
    break_graph(BreakReason::kCall, str_cat(name, " of a number of NumPy's"));
}

// torch.ops.namespace.name, and .overload of it.
bool is_operator(PyBorrow object) {
  const std::string_view type = Py_TYPE(object.get())->tp_name;
  return type == "OpOverload" || type == "OpOverloadPacket";
}

bool is_tensor_function(PyBorrow object) {
  if (is_operator(object)) return true;
  if (!PyFunction_Check(object.get()) && !PyCFunction_Check(object.get())) return false;
  const PyRef module = PyRef::steal(PyObject_GetAttrString(object.get(), "__module__"));
  if (!module) PyErr_Clear();
  if (!module || !PyUnicode_Check(module.get())) {
    // Functions of torch._C._VariableFunctions are methods of a type.
    const PyBorrow self(PyCFunction_Check(object.get()) ? PyCFunction_GET_SELF(object.get())
                                                        : nullptr);
    return self && PyType_Check(self.get()) &&
           std::string_view(reinterpret_cast<PyTypeObject*>(self.get())->tp_name) ==
               "torch._C._VariableFunctionsClass";
  }
  const std::string_view name = utf8(module);
  return std::find(kFunctionModules.begin(), kFunctionModules.end(), name) !=
         kFunctionModules.end();
}

bool has_tensor(const VarRef& value) {
  if (dynamic_cast<const TensorVariable*>(value.get())) return true;
  const auto* items = value->items();
  return items && std::any_of(items->begin(), items->end(), has_tensor);
}

// CPython: Objects/classobject.c, method_vectorcall, and Modules/_functoolsmodule.c, partial_call,
// of objects that were there.
VarRef call_found_method(Translator& t, const VarRef& self, const CallArgs& args) {
  t.guard_type(*self);
  const auto part = [&](PyObject* object, const char* name) {
    return wrap(t, PyBorrow(object), Source::slot_member(self->source(), name));
  };
  CallArgs all{args};
  all.positional.insert(all.positional.begin(),
                        part(PyMethod_GET_SELF(self->object().get()), "__self__"));
  return protocol::call(t, part(PyMethod_GET_FUNCTION(self->object().get()), "__func__"), all);
}

bool is_partial(PyBorrow object) {
  return std::string_view(Py_TYPE(object.get())->tp_name) == "functools.partial";
}

VarRef call_found_partial(Translator& t, const VarRef& self, const CallArgs& args) {
  t.guard_type(*self);
  const auto part = [&](const char* name) {
    const SourceRef source = Source::slot_member(self->source(), name);
    return wrap(t, source->read(t.frame()), source);
  };
  CallArgs all{protocol::all_items(t, part("args")), {}};
  all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
  const VarRef named = part("keywords");
  for (const auto& [key, value] : dynamic_cast<const DictVariable&>(*named).entries())
    all.named.emplace_back(utf8(key->object()), value);
  for (const auto& [name, value] : args.named) {
    std::erase_if(all.named, [&](const auto& entry) { return entry.first == name; });
    all.named.emplace_back(name, value);
  }
  return protocol::call(t, part("func"), all);
}

// CPython: Objects/weakrefobject.c, weakref_call: of what is gone, or is known by what holds it.
// What the frame alone holds may be gone when it gets there.
VarRef call_reference(Translator& t, const VarRef& self, const CallArgs& args) {
  if (!args.positional.empty() || !args.named.empty())
    break_graph(BreakReason::kRaises, "a weak reference that is called with arguments");
  t.guard_type(*self);
  const PyBorrow object = referent(self->object());
  const SourceRef source = Source::referent(self->source());
  if (object.get() == Py_None) return wrap(t, object, source);
  VarRef known = t.known(object, source);
  if (!known || !known->source()->base())
    break_graph(BreakReason::kCall, "a weak reference to what may be gone");
  return known;
}

// The Python function that another object stands before: torch.jit.script's, functools.lru_cache's.
// Null: the object is no such one.
VarRef function_behind(Translator& t, const VarRef& self) {
  const std::string_view type = Py_TYPE(self->object().get())->tp_name;
  const bool is_script = type.ends_with("ScriptFunction");
  if (!is_script && type != "functools._lru_cache_wrapper") return nullptr;
  if (is_script && !member(self->object(), name("__name__"))) return nullptr;  // it was traced
  const char* const key = is_script ? "_torchdynamo_inline" : "__wrapped__";
  const PyBorrow function = member(self->object(), name(key));
  if (!function || !PyFunction_Check(function.get())) return nullptr;
  t.guard_type(*self);
  return wrap(t, function, Source::member(self->source(), key));
}

// What functools.lru_cache keeps for constants is what the program would be given, whatever has
// changed meanwhile: it is asked for it. Null: it is not asked, or keeps what others may change.
VarRef call_cached(Translator& t, const VarRef& self, const CallArgs& args) {
  if (Py_TYPE(self->object().get())->tp_name != std::string_view("functools._lru_cache_wrapper") ||
      !args.named.empty())
    return nullptr;
  std::vector<PyRef> values;
  for (const VarRef& arg : args.positional) {
    const bool is_constant = dynamic_cast<const ConstantVariable*>(arg.get()) != nullptr;
    const bool is_single =
        dynamic_cast<const ObjectVariable*>(arg.get()) && has_identity_hash(arg->object());
    if (!is_constant && !is_single) return nullptr;
    t.guard_identity(*arg);
    values.push_back(PyRef::to(arg->object()));
  }
  t.guard_identity(*self);
  try {
    PyRef value = call(t.gil(), self->object(), tuple_of(values));
    if (!is_plain_constant(value)) return nullptr;
    return std::make_shared<ConstantVariable>(std::move(value));
  } catch (const PythonError&) {
    raise_python_error(t);
  }
}

aten_bridge::HashSet<PyObject*>& allowed_functions() {
  static auto* const functions = new aten_bridge::HashSet<PyObject*>;
  return *functions;
}

VarRef call_object(Translator& t, const VarRef& self, const CallArgs& args) {
  const bool on_tensors = std::any_of(args.positional.begin(), args.positional.end(), has_tensor) ||
                          std::any_of(args.named.begin(), args.named.end(),
                                      [](const auto& named) { return has_tensor(named.second); });
  if (on_tensors && allowed_functions().contains(self->object().get())) {
    t.guard_identity(*self);
    return record_function(t, self->object(), args);
  }
  if (const BuiltinHandler handler = builtin_handler(t.gil(), self->object())) {
    t.guard_identity(*self);
    return handler(t, self->object(), args);
  }
  if ((on_tensors || is_factory(self->object())) && is_tensor_function(self->object())) {
    t.guard_identity(*self);
    expect_pythons_numbers(self->object(), args);
    return record_function(t, self->object(), args, !on_tensors);
  }
  if (PyMethod_Check(self->object().get())) return call_found_method(t, self, args);
  if (PyWeakref_CheckRefExact(self->object().get())) return call_reference(t, self, args);
  if (VarRef value = call_cached(t, self, args)) return value;
  if (const VarRef function = function_behind(t, self)) return protocol::call(t, function, args);
  if (gives_numbers(self->object())) return call_on_numbers(t, self, args);
  if (is_partial(self->object())) return call_found_partial(t, self, args);
  if (PyType_Check(self->object().get())) return make_instance(t, self, args);
  if (PyFunction_Check(self->object().get()))
    return inline_call(t, static_cast<const ObjectVariable&>(*self), args);
  if (const VarRef method = special_method(t, self, "__call__"))
    return protocol::call(t, method, args);
  break_graph(BreakReason::kCall, self->source()->text());
}

}  // namespace

void allow_in_graph(PyBorrow function) {
  if (allowed_functions().insert(function.get()).second) Py_INCREF(function.get());
}

const Slots& ObjectVariable::slots() const {
  static constexpr Slots kSlots =
      special::slots_of_class(get_attribute_of_object, set_attribute_of_object, call_object);
  return kSlots;
}

std::string ObjectVariable::type_name() const { return Py_TYPE(object_.get())->tp_name; }

}  // namespace torchdyn
