// Attributes of objects, written and deleted.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

bool sets_generically(PyTypeObject* type) {
  return is_generic(type, "__setattr__", reinterpret_cast<void*>(PyObject_GenericSetAttr));
}

// Neither a parameter nor a module, which would be registered.
bool is_plain_member(Translator& t, const VarRef& value) {
  if (const auto* const tensor = dynamic_cast<const TensorVariable*>(value.get())) {
    const PyRef plain = import_attribute(t.gil(), "torch", "Tensor");
    return reinterpret_cast<PyObject*>(tensor->type()) == plain.get();
  }
  if (!is_object(value)) return true;
  expect_found(t, value);
  const PyRef module = import_attribute(t.gil(), "torch.nn", "Module");
  return PyType_IsSubtype(type_of_object(*value), as_type(module)) == 0;
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
  if (!is_plain_member(t, value)) break_graph(BreakReason::kSideEffect, str_cat(".", name));
  const SourceRef buffer = Source::item(Source::member(self->source(), "_buffers"), name);
  if (const PyBorrow now = dict_item(member(self->object(), torchdyn::name("_buffers")), key)) {
    const bool fits =
        dynamic_cast<const TensorVariable*>(value.get()) || protocol::is_none(t, value);
    if (!fits) break_graph(BreakReason::kRaises, "a buffer that would be no tensor");
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
