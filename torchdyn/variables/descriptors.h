// What reading, writing and super() of attributes share: the type of an object, what it finds along
// its bases, and what becomes of a descriptor.
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

// What has attributes of its own by its class: an ObjectVariable or an InstanceVariable.
bool is_object(const VarRef& value);
PyTypeObject* as_type(PyBorrow object);
VarRef object_at(PyBorrow object, SourceRef source);
VarRef text(std::string_view value);

// The type of an ObjectVariable or InstanceVariable; as a variable, guarded.
PyTypeObject* type_of_object(const Variable& value);
VarRef type_of(Translator& t, const VarRef& self);
void expect_found(Translator& t, const VarRef& self);
// Where the type of an object finds `name`.
SourceRef found_in_type(const VarRef& self, const std::string& name);

// Whether a type finds under `name` what the type `module`.`of` has there.
bool has_lookup_of(Translator& t, PyTypeObject* type, const char* module, const char* of,
                   const char* name);
// Whether what it finds is a slot that calls that function.
bool is_generic(PyTypeObject* type, const char* name, void* function);

// What was found along a type's bases, as an attribute. `self` null: it was asked of the type.
// Null: capture does not know this kind.
VarRef bound(Translator& t, const VarRef& self, const VarRef& owner, PyBorrow found,
             const SourceRef& source);

}  // namespace torchdyn
