// Attributes of objects from outside, by CPython's algorithms; what is read is guarded.
//   VarRef value = find_attribute(t, self, "weight");   // null: there is no such attribute
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

// Of an ObjectVariable or an InstanceVariable. Breaks where code runs that capture does not follow.
VarRef find_attribute(Translator& t, const VarRef& self, const std::string& name);
// What the object keeps itself under that name, or will; null: nothing.
VarRef own_attribute_of(Translator& t, const VarRef& self, const std::string& name);
// What super(`type`, `self`).`name` is.
VarRef super_attribute(Translator& t, const VarRef& type, const VarRef& self,
                       const std::string& name);
// A method that the type has for an operation, written in Python; null: there is none.
VarRef special_method(Translator& t, const VarRef& self, const std::string& name);
// object.__getattribute__ and object.__setattr__, whatever the type has in their place.
VarRef find_generic_attribute(Translator& t, const VarRef& self, const std::string& name);
void set_generic_attribute(Translator& t, const VarRef& self, const std::string& name,
                           const VarRef& value);
void set_attribute_of_object(Translator& t, const VarRef& self, const std::string& name,
                             const VarRef& value);
void delete_attribute_of_object(Translator& t, const VarRef& self, const std::string& name);
VarRef get_attribute_of_object(Translator& t, const VarRef& self, const std::string& name);

}  // namespace torchdyn
