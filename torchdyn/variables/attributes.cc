#include "torchdyn/variables/attributes.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/context_variable.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

[[noreturn]] void unknown(const Variable& self, std::string_view name) {
  break_graph(BreakReason::kAttribute, str_cat(self.type_name(), ".", name));
}

PyTypeObject* as_type(PyBorrow object) { return reinterpret_cast<PyTypeObject*>(object.get()); }

VarRef object_at(PyBorrow object, SourceRef source) {
  return std::make_shared<ObjectVariable>(PyRef::to(object), std::move(source));
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

// ---- Descriptors: what was found along a type's bases, and where

// CPython: Objects/descrobject.c, Objects/funcobject.c. `self` null: it was asked of the type.
// Null: capture does not know this kind.
VarRef bound(Translator& t, const VarRef& self, const VarRef& owner, PyBorrow found,
             const SourceRef& source) {
  if (is_plain_constant(found))  // the guard on the type holds it
    return std::make_shared<ConstantVariable>(PyRef::to(found), source);
  if (PyFunction_Check(found.get())) {
    VarRef function = object_at(found, source);
    return self ? std::make_shared<BoundMethodVariable>(self, std::move(function)) : function;
  }
  if (const PyBorrow function = static_function(found))
    return object_at(function, Source::unwrapped(source));
  if (const PyBorrow function = class_function(found))
    return std::make_shared<BoundMethodVariable>(owner,
                                                 object_at(function, Source::unwrapped(source)));
  if (const PyBorrow getter = self ? property_getter(found) : PyBorrow())
    return protocol::call(t, object_at(getter, Source::unwrapped(source)), {{self}, {}});
  if (Py_TYPE(found.get())->tp_descr_get == nullptr) return wrap(t, found, source);
  if (VarRef method = self ? method_of_contents(t, self, found) : nullptr) return method;
  if (VarRef method = self ? method_of_context_variable(self, found) : nullptr) return method;
  const PyRef get = torchdyn::name("__get__");
  const PyBorrow method = type_attribute(Py_TYPE(found.get()), get);
  if (self && method && PyFunction_Check(method.get())) {
    const VarRef descriptor = object_at(found, source);
    t.guard_identity(*descriptor);
    t.guard_type(*descriptor);
    return protocol::call(t, object_at(method, Source::type_member(source, "__get__")),
                          {{descriptor, self, owner}, {}});
  }
  return nullptr;
}

VarRef type_of(Translator& t, const VarRef& self) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->type();
  t.guard_type(*self);
  return object_at(PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(self->object().get()))),
                   Source::type_of(self->source()));
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
  if (is_data_descriptor(of_metatype)) unknown(*self, name);
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

// Where the type of an object finds `name`.
SourceRef found_in_type(const VarRef& self, const std::string& name) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return Source::class_member(made->type()->source(), name);
  return Source::type_member(self->source(), name);
}

VarRef text(std::string_view value) {
  return std::make_shared<ConstantVariable>(torchdyn::name(value));
}

VarRef kept_in_slot(Translator& t, const VarRef& self, const std::string& name,
                    PyBorrow descriptor) {
  if (Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) return nullptr;
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return made->own(name);
  const PyBorrow value = slot_value(self->object(), descriptor);
  return value ? wrap(t, value, Source::slot_member(self->source(), name)) : nullptr;
}

// What object.__getattribute__ says, and then a __getattr__, in torch.nn.Module's or in Python.
VarRef fallback_attribute(Translator& t, const VarRef& self, const std::string& name) {
  PyTypeObject* const type = type_of_object(*self);
  if (self->object() && has_lookup_of(t, type, "torch.nn", "Module", "__getattr__"))
    return attribute_of_nn_module(t, self, name);
  const PyBorrow fallback = type_attribute(type, torchdyn::name("__getattr__"));
  if (!fallback) return nullptr;
  if (!PyFunction_Check(fallback.get())) unknown(*self, name);
  return protocol::call(t, object_at(fallback, found_in_type(self, "__getattr__")),
                        {{self, text(name)}, {}});
}

// Whether a type has an object's own attributes: what it finds is a slot that calls that function.
bool is_generic(PyTypeObject* type, const char* name, void* function) {
  const PyBorrow found = type_attribute(type, torchdyn::name(name));
  return found && Py_TYPE(found.get()) == &PyWrapperDescr_Type &&
         reinterpret_cast<const PyWrapperDescrObject*>(found.get())->d_wrapped == function;
}

bool gets_generically(PyTypeObject* type) {
  return is_generic(type, "__getattribute__", reinterpret_cast<void*>(PyObject_GenericGetAttr));
}

bool sets_generically(PyTypeObject* type) {
  return is_generic(type, "__setattr__", reinterpret_cast<void*>(PyObject_GenericSetAttr));
}

void expect_found(Translator& t, const VarRef& self) {
  if (self->object()) t.guard_type(*self);
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

bool has_lookup_of(Translator& t, PyTypeObject* type, const char* module, const char* of,
                   const char* name) {
  const PyRef base = import_attribute(t.gil(), module, of);
  const PyRef key = torchdyn::name(name);
  const PyBorrow found = type_attribute(type, key);
  return found && found == type_attribute(as_type(base), key);
}

PyTypeObject* type_of_object(const Variable& value) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(&value))
    return made->raw_type();
  return Py_TYPE(value.object().get());
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

namespace {

bool is_objects_method(std::string_view name) {
  return name == "__new__" || name == "__getattribute__" || name == "__setattr__" ||
         name == "__init__";
}

VarRef call_objects_method(Translator& t, const VarRef& variable, const CallArgs& args) {
  const auto& method = static_cast<const ObjectMethodVariable&>(*variable);
  const auto& values = args.positional;
  const auto* const exception = dynamic_cast<const ExceptionVariable*>(method.self().get());
  const auto name = [&] { return std::string(utf8(values[0]->object())); };
  if (method.name() == "__getattribute__" && values.size() == 1) {
    if (VarRef value = find_generic_attribute(t, method.self(), name())) return value;
    raise(t, PyBorrow(PyExc_AttributeError),
          str_cat("'", method.self()->type_name(), "' object has no attribute '", name(), "'"));
  }
  if (method.name() == "__new__") {
    auto* const type = as_type(values.at(0)->object());
    if (!makes_exceptions(type)) return std::make_shared<InstanceVariable>(values[0]);
    return std::make_shared<ExceptionVariable>(
        values[0], std::vector<VarRef>(values.begin() + 1, values.end()));
  }
  if (method.name() == "__setattr__" && values.size() == 2)
    set_generic_attribute(t, method.self(), name(), values[1]);
  else if (exception && method.name() == "__init__" && args.named.empty())
    exception->set_args(values);
  else if (!values.empty() || !args.named.empty())
    break_graph(BreakReason::kRaises, "object.__init__() takes no arguments");
  return none();
}

VarRef attribute_of_super(Translator& t, const VarRef& self, const std::string& name) {
  const auto& super = static_cast<const SuperVariable&>(*self);
  return super_attribute(t, super.type(), super.self(), name);
}

}  // namespace

const Slots& ObjectMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_objects_method};
  return kSlots;
}

const Slots& SuperVariable::slots() const {
  static constexpr Slots kSlots{.getattro = attribute_of_super};
  return kSlots;
}

namespace {

// Of a base that is CPython's own. Null: it has none.
VarRef attribute_of_builtin(Translator& t, const VarRef& self, PyTypeObject* base,
                            const std::string& name) {
  const PyBorrow found = type_attribute(base, torchdyn::name(name));
  if (!found) return nullptr;
  if (VarRef method = method_of_contents(t, self, found)) return method;
  const bool is_known = base == &PyBaseObject_Type || makes_exceptions(base) ||
                        (PyType_IsSubtype(base, &PyDict_Type) && name != "__init__");
  if (!is_known || !is_objects_method(name))
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  return std::make_shared<ObjectMethodVariable>(self, name);
}

}  // namespace

// CPython: Objects/typeobject.c, do_super_lookup, for objects that are no types.
VarRef super_attribute(Translator& t, const VarRef& type, const VarRef& self,
                       const std::string& name) {
  const bool is_object = dynamic_cast<const ObjectVariable*>(self.get()) ||
                         dynamic_cast<const InstanceVariable*>(self.get());
  if (!is_object || !type->object() || !PyType_Check(type->object().get()))
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  const bool is_type = self->object() && PyType_Check(self->object().get());
  if (is_type) {
    t.guards().add(self->source(), *IsType::of(self->object()));
  } else {
    expect_found(t, self);
  }
  t.guard_identity(*type);
  const PyBorrow order(is_type ? as_type(self->object())->tp_mro : type_of_object(*self)->tp_mro);
  bool is_after = false;
  int index = 0;
  for (const PyBorrow base : items_of(order)) {
    const int here = index++;
    if (!is_after) {
      is_after = base == type->object();
      continue;
    }
    if (!PyType_HasFeature(as_type(base), Py_TPFLAGS_HEAPTYPE)) {
      if (VarRef value = attribute_of_builtin(t, self, as_type(base), name)) return value;
      continue;
    }
    const PyBorrow found = own_attribute(base, torchdyn::name(name));
    if (!found) continue;
    const VarRef owner = is_type ? self : type_of(t, self);
    if (VarRef value = bound(t, is_type ? nullptr : self, owner, found,
                             Source::base_member(owner->source(), here, name)))
      return value;
    break_graph(BreakReason::kAttribute, str_cat("super().", name));
  }
  break_graph(BreakReason::kAttribute, str_cat("super().", name));
}

// ---- Writing
// ---------------------------------------------------------------------------------------

namespace {

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

void set_found_attribute(Translator& t, const VarRef& self, const std::string& name,
                         const VarRef& value) {
  PyTypeObject* const type = Py_TYPE(self->object().get());
  const bool is_nn = has_lookup_of(t, type, "torch.nn", "Module", "__setattr__");
  const bool has_dict = type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
  const PyBorrow descriptor = type_attribute(type, torchdyn::name(name));
  if (PyType_Check(self->object().get()) || PyModule_Check(self->object().get()) || !has_dict ||
      is_data_descriptor(descriptor) || name == "__class__")
    break_graph(BreakReason::kSideEffect, str_cat(self->type_name(), ".", name));
  t.guard_type(*self);
  if (is_nn) expect_plain_member(t, self, name, value);
  t.effects().set_attribute(self, name, value);
}

}  // namespace

// CPython: Objects/object.c, _PyObject_GenericSetAttrWithDict.
void set_generic_attribute(Translator& t, const VarRef& self, const std::string& name,
                           const VarRef& value) {
  const auto* const made = dynamic_cast<const InstanceVariable*>(self.get());
  if (!made) return set_found_attribute(t, self, name, value);
  const PyBorrow descriptor = type_attribute(made->raw_type(), torchdyn::name(name));
  const auto* const exception = dynamic_cast<const ExceptionVariable*>(made);
  if (exception && name == "__traceback__" && !value->object()) return;  // one of ours: it has none
  const bool is_slot = descriptor && Py_TYPE(descriptor.get()) == &PyMemberDescr_Type;
  if (name == "__class__" || (is_data_descriptor(descriptor) && !is_slot))
    break_graph(BreakReason::kSideEffect, str_cat(self->type_name(), ".", name));
  made->set_own(name, value);
}

// CPython: Objects/object.c, PyObject_SetAttr: a __setattr__ of Python's, a property's setter.
void set_attribute_of_object(Translator& t, const VarRef& self, const std::string& name,
                             const VarRef& value) {
  PyTypeObject* const type = type_of_object(*self);
  const bool is_nn = self->object() && has_lookup_of(t, type, "torch.nn", "Module", "__setattr__");
  if (!is_nn && !sets_generically(type)) {
    const VarRef method = special_method(t, self, "__setattr__");
    if (!method) break_graph(BreakReason::kSideEffect, str_cat(self->type_name(), ".", name));
    (void)protocol::call(t, method, {{text(name), value}, {}});
    return;
  }
  const PyBorrow setter = property_setter(type_attribute(type, torchdyn::name(name)));
  if (!setter) return set_generic_attribute(t, self, name, value);
  expect_found(t, self);
  (void)protocol::call(t, object_at(setter, Source::setter(found_in_type(self, name))),
                       {{self, value}, {}});
}

// CPython: Objects/object.c, _PyObject_GenericSetAttrWithDict, of what the frame made.
void delete_attribute_of_object(Translator& t, const VarRef& self, const std::string& name) {
  const auto* const made = dynamic_cast<const InstanceVariable*>(self.get());
  if (!made || is_data_descriptor(type_attribute(made->raw_type(), torchdyn::name(name))) ||
      !is_generic(made->raw_type(), "__delattr__",
                  reinterpret_cast<void*>(PyObject_GenericSetAttr)))
    break_graph(BreakReason::kSideEffect, str_cat("del ", self->type_name(), ".", name));
  if (!made->erase_own(name))
    raise(t, PyBorrow(PyExc_AttributeError),
          str_cat("'", self->type_name(), "' object has no attribute '", name, "'"));
}

}  // namespace torchdyn
