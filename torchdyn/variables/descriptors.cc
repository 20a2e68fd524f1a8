#include "torchdyn/variables/descriptors.h"

#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/context_variable.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {

bool is_object(const VarRef& value) {
  return dynamic_cast<const ObjectVariable*>(value.get()) ||
         dynamic_cast<const InstanceVariable*>(value.get());
}

PyTypeObject* as_type(PyBorrow object) { return reinterpret_cast<PyTypeObject*>(object.get()); }

VarRef object_at(PyBorrow object, SourceRef source) {
  return std::make_shared<ObjectVariable>(PyRef::to(object), std::move(source));
}

PyTypeObject* type_of_object(const Variable& value) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(&value))
    return made->raw_type();
  return Py_TYPE(value.object().get());
}

bool has_lookup_of(Translator& t, PyTypeObject* type, const char* module, const char* of,
                   const char* name) {
  const PyRef base = import_attribute(t.gil(), module, of);
  const PyRef key = torchdyn::name(name);
  const PyBorrow found = type_attribute(type, key);
  return found && found == type_attribute(as_type(base), key);
}

// CPython: Objects/descrobject.c, Objects/funcobject.c.
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
  const bool is_cached =
      Py_TYPE(found.get())->tp_name == std::string_view("functools._lru_cache_wrapper");
  if (self && is_cached)
    return std::make_shared<BoundMethodVariable>(self, object_at(found, source));
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

SourceRef found_in_type(const VarRef& self, const std::string& name) {
  if (const auto* const made = dynamic_cast<const InstanceVariable*>(self.get()))
    return Source::class_member(made->type()->source(), name);
  return Source::type_member(self->source(), name);
}

VarRef text(std::string_view value) {
  return std::make_shared<ConstantVariable>(torchdyn::name(value));
}

bool is_generic(PyTypeObject* type, const char* name, void* function) {
  const PyBorrow found = type_attribute(type, torchdyn::name(name));
  return found && Py_TYPE(found.get()) == &PyWrapperDescr_Type &&
         reinterpret_cast<const PyWrapperDescrObject*>(found.get())->d_wrapped == function;
}

void expect_found(Translator& t, const VarRef& self) {
  if (self->object()) t.guard_type(*self);
}

}  // namespace torchdyn
