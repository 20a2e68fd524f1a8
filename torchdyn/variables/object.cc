// Objects from outside: what they hold is read where they keep it, and guarded.
#include <algorithm>
#include <array>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
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
  if (descriptor || !has_nn_lookup(t, type)) unknown(*self, name);
  return attribute_of_nn_module(t, self, name);
}

VarRef get_attribute(Translator& t, const VarRef& self, const std::string& name) {
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
  if (!on_tensors || !is_tensor_function(self->object()))
    break_graph(BreakReason::kCall, self->source()->text());
  t.guard_identity(*self);
  return record_function(t, self->object(), args);
}

}  // namespace

const Slots& ObjectVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute, .call = call_object};
  return kSlots;
}

std::string ObjectVariable::type_name() const { return Py_TYPE(object_.get())->tp_name; }

}  // namespace torchdyn
