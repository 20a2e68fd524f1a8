#include "torchdyn/variables/attributes.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
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
  const SourceRef source = Source::member(self->source(), name);
  if (const PyBorrow value = member(self->object(), torchdyn::name(name)))
    return wrap(t, value, source);
  if (member(self->object(), torchdyn::name("__getattr__"))) unknown(*self, name);
  t.guards().add(source, Absent{});
  return nullptr;
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
  return nullptr;
}

constexpr std::string_view kFixedOfTypes[] = {"__name__", "__qualname__", "__module__"};
constexpr std::string_view kPartsOfFunctions[] = {"__code__", "__defaults__", "__kwdefaults__",
                                                  "__globals__", "__closure__"};

template <size_t n>
bool is_among(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// CPython: Objects/typeobject.c, type_getattro.
VarRef attribute_of_type(Translator& t, const VarRef& self, const std::string& name) {
  PyTypeObject* const type = as_type(self->object());
  t.guards().add(self->source(), *IsType::of(self->object()));
  if (is_among(kFixedOfTypes, name))
    return std::make_shared<ConstantVariable>(attribute(t.gil(), self->object(), name.c_str()));
  if (name == "__class__") return type_of(t, self);
  if (name == "__mro__") {
    std::vector<VarRef> bases;
    for (const PyBorrow base : items_of(PyBorrow(type->tp_mro)))
      bases.push_back(wrap(
          t, base,
          Source::element(Source::class_order(self->source()), static_cast<int>(bases.size()))));
    return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(bases));
  }
  const PyBorrow of_metatype = type_attribute(Py_TYPE(self->object().get()), torchdyn::name(name));
  if (is_data_descriptor(of_metatype)) {
    if (VarRef value = bound(t, self, type_of(t, self), of_metatype,
                             Source::type_member(self->source(), name)))
      return value;
    unknown(*self, name);
  }
  if (const PyBorrow found = type_attribute(type, torchdyn::name(name))) {
    if (VarRef value = bound(t, nullptr, self, found, Source::class_member(self->source(), name)))
      return value;
    unknown(*self, name);
  }
  if (!of_metatype) {
    if (type_attribute(Py_TYPE(self->object().get()), torchdyn::name("__getattr__")))
      unknown(*self, name);
    return nullptr;
  }
  if (VarRef value =
          bound(t, self, type_of(t, self), of_metatype, Source::type_member(self->source(), name)))
    return value;
  unknown(*self, name);
}

VarRef attribute_of_function(Translator& t, const VarRef& self, const std::string& name) {
  t.guard_identity(*self);
  if (name == "__class__") return type_of(t, self);
  if (name == "__name__" || name == "__qualname__" || name == "__module__" || name == "__doc__")
    return std::make_shared<ConstantVariable>(attribute(t.gil(), self->object(), name.c_str()));
  if (is_among(kPartsOfFunctions, name)) {
    for (int part = 0; part < kFunctionParts; ++part) {
      const auto which = static_cast<FunctionPart>(part);
      if (name != name_of(which)) continue;
      const PyBorrow value = part_of(self->object(), which);
      const SourceRef source = Source::part(self->source(), which);
      return wrap(t, value ? value : PyBorrow(Py_None), source);
    }
  }
  const SourceRef own = Source::member(self->source(), name);
  if (const PyBorrow value = member(self->object(), torchdyn::name(name)))
    return wrap(t, value, own);
  if (type_attribute(&PyFunction_Type, torchdyn::name(name))) unknown(*self, name);
  t.guards().add(own, Absent{});
  return nullptr;
}

// Code objects do not change.
VarRef attribute_of_code(Translator& t, const VarRef& self, const std::string& name) {
  if (!name.starts_with("co_")) unknown(*self, name);
  t.guard_identity(*self);
  return protocol::from_constant(attribute(t.gil(), self->object(), name.c_str()));
}

VarRef kept_in_slot(Translator& t, const VarRef& self, const std::string& name,
                    PyBorrow descriptor) {
  if (Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) return nullptr;
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->own(name);
  const PyBorrow value = slot_value(self->object(), descriptor);
  return value ? wrap(t, value, Source::slot_member(self->source(), name)) : nullptr;
}

// torch.ops and what is in it find operators when they are first asked for, and keep them. Null: it
// is another object, or has no such operator.
VarRef operator_named(Translator& t, const VarRef& self, const std::string& name) {
  constexpr std::string_view kFinders[] = {"OpOverloadPacket", "_OpNamespace", "_Ops"};
  const PyBorrow object = self->object();
  if (!object || !is_among(kFinders, Py_TYPE(object.get())->tp_name)) return nullptr;
  const PyRef found = PyRef::steal(PyObject_GetAttrString(object.get(), name.c_str()));
  if (!found) PyErr_Clear();
  const PyBorrow kept = member(object, torchdyn::name(name));
  return kept ? wrap(t, kept, Source::member(self->source(), name)) : nullptr;
}

// What object.__getattribute__ says, and then a __getattr__, in torch.nn.Module's or in Python.
VarRef fallback_attribute(Translator& t, const VarRef& self, const std::string& name) {
  PyTypeObject* const type = type_of_object(*self);
  if (self->object() && has_lookup_of(t, type, "torch.nn", "Module", "__getattr__"))
    return attribute_of_nn_module(t, self, name);
  const PyBorrow fallback = type_attribute(type, torchdyn::name("__getattr__"));
  if (!fallback) return nullptr;
  if (VarRef value = operator_named(t, self, name)) return value;
  if (!PyFunction_Check(fallback.get())) unknown(*self, name);
  return protocol::call(t, object_at(fallback, found_in_type(self, "__getattr__")),
                        {{self, text(name)}, {}});
}

bool gets_generically(PyTypeObject* type) {
  return is_generic(type, "__getattribute__", reinterpret_cast<void*>(PyObject_GenericGetAttr));
}

// CPython: Objects/typeobject.c, slot_tp_getattr_hook.
VarRef find_attribute_of_instance(Translator& t, const VarRef& self, const std::string& name) {
  PyTypeObject* const type = type_of_object(*self);
  VarRef value;
  if (gets_generically(type) || has_lookup_of(t, type, "types", "ModuleType", "__getattribute__")) {
    value = find_generic_attribute(t, self, name);
  } else {
    const VarRef method = special_method(t, self, "__getattribute__");
    if (!method) unknown(*self, name);
    if (type_attribute(type, torchdyn::name("__getattr__"))) unknown(*self, name);
    value = protocol::call(t, method, {{text(name)}, {}});
  }
  return value ? value : fallback_attribute(t, self, name);
}

}  // namespace

VarRef own_attribute_of(Translator& t, const VarRef& self, const std::string& name) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->own(name);
  if (VarRef written = t.effects().attribute(self->object(), name)) return written;
  const SourceRef own = Source::member(self->source(), name);
  if (const PyBorrow value = member(self->object(), torchdyn::name(name)))
    return wrap(t, value, own);
  t.guards().add(own, Absent{});
  return nullptr;
}

// CPython: Objects/object.c, _PyObject_GenericGetAttrWithDict.
VarRef find_generic_attribute(Translator& t, const VarRef& self, const std::string& name) {
  expect_found(t, self);
  if (name == "__class__") return type_of(t, self);
  if (name == "__dict__") return std::make_shared<MembersVariable>(self);
  if (name == "__getattribute__") return std::make_shared<ObjectMethodVariable>(self, name);
  const PyBorrow descriptor = type_attribute(type_of_object(*self), torchdyn::name(name));
  const SourceRef found_at = found_in_type(self, name);
  const bool is_builtin =
      descriptor && !PyFunction_Check(descriptor.get()) && !property_getter(descriptor);
  if (is_builtin && dynamic_cast<const ExceptionVariable*>(self.get()))
    if (VarRef value = attribute_of_exception(t, self, name)) return value;
  if (is_data_descriptor(descriptor)) {
    if (VarRef value = kept_in_slot(t, self, name, descriptor)) return value;
    if (VarRef value = bound(t, self, type_of(t, self), descriptor, found_at)) return value;
    unknown(*self, name);
  }
  if (VarRef value = own_attribute_of(t, self, name)) return value;
  if (!descriptor) return nullptr;
  if (VarRef value = bound(t, self, type_of(t, self), descriptor, found_at)) return value;
  unknown(*self, name);
}

VarRef find_attribute(Translator& t, const VarRef& self, const std::string& name) {
  const PyBorrow object = self->object();
  if (!object) return find_attribute_of_instance(t, self, name);
  if (VarRef written = t.effects().attribute(object, name)) return written;
  if (PyModule_CheckExact(object.get())) return attribute_of_module(t, self, name);
  if (PyType_Check(object.get())) return attribute_of_type(t, self, name);
  if (PyFunction_Check(object.get())) return attribute_of_function(t, self, name);
  if (PyCode_Check(object.get())) return attribute_of_code(t, self, name);
  return find_attribute_of_instance(t, self, name);
}

namespace {

// CPython: Objects/object.c, Objects/typeobject.c, Objects/moduleobject.c.
std::string owner_in_messages(const Variable& self) {
  PyObject* const object = self.object().get();
  if (object && PyType_Check(object))
    return str_cat("type object '", as_type(PyBorrow(object))->tp_name, "'");
  if (object && PyModule_Check(object)) return str_cat("module '", PyModule_GetName(object), "'");
  return str_cat("'", self.type_name(), "' object");
}

}  // namespace

VarRef get_attribute_of_object(Translator& t, const VarRef& self, const std::string& name) {
  if (VarRef value = find_attribute(t, self, name)) return value;
  raise(t, PyBorrow(PyExc_AttributeError),
        str_cat(owner_in_messages(*self), " has no attribute '", name, "'"));
}

VarRef special_method(Translator& t, const VarRef& self, const std::string& name) {
  if (self->object() && PyType_Check(self->object().get())) return nullptr;
  expect_found(t, self);
  const PyBorrow found = type_attribute(type_of_object(*self), torchdyn::name(name));
  if (!found || !PyFunction_Check(found.get())) return method_of_contents(t, self, found);
  return std::make_shared<BoundMethodVariable>(self, object_at(found, found_in_type(self, name)));
}

}  // namespace torchdyn
