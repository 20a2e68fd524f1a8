// Objects from outside: what they hold is read where they keep it, and guarded.
#include <algorithm>
#include <array>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/inline_call.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/record.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

[[noreturn]] void unknown(const Variable& self, std::string_view name) {
  break_graph(BreakReason::kAttribute, str_cat(self.type_name(), ".", name));
}

// CPython: Objects/moduleobject.c, _Py_module_getattro_impl, without a module's __getattr__.
VarRef attribute_of_module(Translator& t, const VarRef& self, const std::string& name) {
  t.guard_identity(*self);
  const PyBorrow value = member(self->object(), torchdyn::name(name));
  if (!value) unknown(*self, name);
  return wrap(t, value, Source::member(self->source(), name));
}

// What torch.nn.Module.__getattr__ does, which runs where nothing else is found.
VarRef attribute_of_nn_module(Translator& t, const VarRef& self, const std::string& name) {
  const PyRef key = torchdyn::name(name);
  for (const char* where : {"_parameters", "_buffers", "_modules"}) {
    const SourceRef dict = Source::member(self->source(), where);
    const SourceRef source = Source::item(dict, name);
    if (const PyBorrow value = dict_item(member(self->object(), torchdyn::name(where)), key))
      return wrap(t, value, source);
    t.guards().add(source, Absent{});
  }
  unknown(*self, name);
}

bool is_plain_lookup(Translator& t, PyTypeObject* type) {
  const PyRef object = import_attribute(t.gil(), "builtins", "object");
  const PyRef name = torchdyn::name("__getattribute__");
  return type_attribute(type, name) ==
         type_attribute(reinterpret_cast<PyTypeObject*>(object.get()), name);
}

bool has_nn_lookup(Translator& t, PyTypeObject* type) {
  const PyRef module = import_attribute(t.gil(), "torch.nn", "Module");
  const PyRef name = torchdyn::name("__getattr__");
  const PyBorrow found = type_attribute(type, name);
  return found && found == type_attribute(reinterpret_cast<PyTypeObject*>(module.get()), name);
}

VarRef method_of(const VarRef& self, PyBorrow function, const std::string& name) {
  return std::make_shared<BoundMethodVariable>(
      self, std::make_shared<ObjectVariable>(PyRef::to(function),
                                             Source::type_member(self->source(), name)));
}

// A method that the type has for an operation, written in Python; null: there is none.
VarRef special_method(Translator& t, const VarRef& self, const std::string& name) {
  if (PyType_Check(self->object().get())) return nullptr;
  t.guard_type(*self);
  const PyBorrow found = type_attribute(Py_TYPE(self->object().get()), torchdyn::name(name));
  return found && PyFunction_Check(found.get()) ? method_of(self, found, name) : nullptr;
}

bool has_lookup_of(Translator& t, PyTypeObject* type, const char* module, const char* of,
                   const char* name) {
  const PyRef base = import_attribute(t.gil(), module, of);
  const PyRef key = torchdyn::name(name);
  const PyBorrow found = type_attribute(type, key);
  return found && found == type_attribute(reinterpret_cast<PyTypeObject*>(base.get()), key);
}

// What torch.nn.Module.__setattr__ leaves to object's: all but parameters and modules. A buffer
// that is replaced is a buffer.
void expect_plain_member(Translator& t, const VarRef& self, const std::string& name,
                         const VarRef& value) {
  const PyRef key = torchdyn::name(name);
  for (const char* where : {"_parameters", "_modules"}) {
    if (dict_item(member(self->object(), torchdyn::name(where)), key))
      break_graph(BreakReason::kSideEffect, str_cat(self->source()->text(), ".", name));
    t.guards().add(Source::item(Source::member(self->source(), where), name), Absent{});
  }
  const bool is_plain = value->object()
                            ? is_plain_constant(value->object())
                            : dynamic_cast<const TensorVariable*>(value.get()) || value->items() ||
                                  dynamic_cast<const DictVariable*>(value.get());
  if (!is_plain || value->source()) break_graph(BreakReason::kSideEffect, str_cat(".", name));
  const SourceRef buffer = Source::item(Source::member(self->source(), "_buffers"), name);
  if (const PyBorrow now = dict_item(member(self->object(), torchdyn::name("_buffers")), key)) {
    (void)wrap(t, now, buffer);
  } else {
    t.guards().add(buffer, Absent{});
  }
}

// CPython: Objects/object.c, _PyObject_GenericSetAttrWithDict.
void set_attribute(Translator& t, const VarRef& self, const std::string& name,
                   const VarRef& value) {
  PyTypeObject* const type = Py_TYPE(self->object().get());
  const bool is_nn = has_lookup_of(t, type, "torch.nn", "Module", "__setattr__");
  const bool is_plain = has_lookup_of(t, type, "builtins", "object", "__setattr__");
  const bool has_dict = type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  const PyBorrow descriptor = type_attribute(type, torchdyn::name(name));
  if (PyType_Check(self->object().get()) || PyModule_Check(self->object().get()) || !has_dict ||
      (!is_nn && !is_plain) || is_data_descriptor(descriptor) || name == "__class__")
    break_graph(BreakReason::kSideEffect, str_cat(self->type_name(), ".", name));
  t.guard_type(*self);
  if (is_nn) expect_plain_member(t, self, name, value);
  t.effects().set_attribute(self, name, value);
}

// CPython: Objects/object.c, _PyObject_GenericGetAttrWithDict.
VarRef attribute_of_instance(Translator& t, const VarRef& self, const std::string& name) {
  PyTypeObject* const type = Py_TYPE(self->object().get());
  if (!is_plain_lookup(t, type)) unknown(*self, name);
  t.guard_type(*self);
  const PyBorrow descriptor = type_attribute(type, torchdyn::name(name));
  if (is_data_descriptor(descriptor)) unknown(*self, name);
  const SourceRef own = Source::member(self->source(), name);
  if (const PyBorrow value = member(self->object(), torchdyn::name(name)))
    return wrap(t, value, own);
  t.guards().add(own, Absent{});
  if (descriptor && is_plain_constant(descriptor))  // the guard on the type holds it
    return std::make_shared<ConstantVariable>(PyRef::to(descriptor));
  if (descriptor && PyFunction_Check(descriptor.get())) return method_of(self, descriptor, name);
  if (descriptor && Py_TYPE(descriptor.get())->tp_descr_get == nullptr)
    return wrap(t, descriptor, Source::type_member(self->source(), name));
  if (descriptor || !has_nn_lookup(t, type)) unknown(*self, name);
  return attribute_of_nn_module(t, self, name);
}

VarRef get_attribute(Translator& t, const VarRef& self, const std::string& name) {
  if (VarRef written = t.effects().attribute(self->object(), name)) return written;
  if (PyModule_CheckExact(self->object().get())) return attribute_of_module(t, self, name);
  return attribute_of_instance(t, self, name);
}

// Modules of functions that compute with tensors and do nothing else.
constexpr std::array<std::string_view, 8> kFunctionModules = {
    "torch",         "torch.functional", "torch.nn.functional",
    "torch._C._nn",  "torch._C._linalg", "torch._C._special",
    "torch._C._fft", "torch._VF"};

bool is_tensor_function(PyBorrow object) {
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

VarRef call_object(Translator& t, const VarRef& self, const CallArgs& args) {
  const bool on_tensors = std::any_of(args.positional.begin(), args.positional.end(), has_tensor) ||
                          std::any_of(args.named.begin(), args.named.end(),
                                      [](const auto& named) { return has_tensor(named.second); });
  if (on_tensors && is_tensor_function(self->object())) {
    t.guard_identity(*self);
    return record_function(t, self->object(), args);
  }
  if (const BuiltinHandler handler = builtin_handler(t.gil(), self->object())) {
    t.guard_identity(*self);
    return handler(t, self->object(), args);
  }
  if (PyFunction_Check(self->object().get()))
    return inline_call(t, static_cast<const ObjectVariable&>(*self), args);
  if (const VarRef method = special_method(t, self, "__call__"))
    return protocol::call(t, method, args);
  break_graph(BreakReason::kCall, self->source()->text());
}

VarRef call_special(Translator& t, const VarRef& self, const char* name, const CallArgs& args) {
  if (const VarRef method = special_method(t, self, name)) return protocol::call(t, method, args);
  break_graph(BreakReason::kValue, str_cat(name, " of a ", self->type_name()));
}

VarRef get_item(Translator& t, const VarRef& self, const VarRef& key) {
  return call_special(t, self, "__getitem__", {{key}, {}});
}

VarRef iterate(Translator& t, const VarRef& self) { return call_special(t, self, "__iter__", {}); }

// Of dicts of all types whose length is a dict's, too: OrderedDicts.
VarRef length(Translator& t, const VarRef& self) {
  PyTypeObject* const type = Py_TYPE(self->object().get());
  const bool is_dict = PyDict_Check(self->object().get()) &&
                       type->tp_as_mapping->mp_length == PyDict_Type.tp_as_mapping->mp_length;
  if (!is_dict) return call_special(t, self, "__len__", {});
  const Py_ssize_t count = torchdyn::length(self->object());
  t.guard_type(*self);
  t.guards().add(self->source(), Length{count});
  return std::make_shared<ConstantVariable>(owned(PyLong_FromSsize_t(count)));
}

// CPython: Objects/object.c, PyObject_IsTrue: __bool__, else a length, else true.
VarRef truth(Translator& t, const VarRef& self) {
  const PyTypeObject* const type = Py_TYPE(self->object().get());
  t.guard_type(*self);
  if (type->tp_as_number && type->tp_as_number->nb_bool)
    return call_special(t, self, "__bool__", {});
  const bool has_length = (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                          (type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (has_length) return length(t, self);
  return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_True)));
}

}  // namespace

const Slots& ObjectVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute,
                                .setattro = set_attribute,
                                .call = call_object,
                                .subscript = get_item,
                                .iterate = iterate,
                                .length = length,
                                .truth = truth};
  return kSlots;
}

std::string ObjectVariable::type_name() const { return Py_TYPE(object_.get())->tp_name; }

}  // namespace torchdyn
