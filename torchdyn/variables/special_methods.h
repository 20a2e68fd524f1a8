// Operations that classes of Python's define by methods with names of their own: slots of objects.
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn {

// A class that is called: an object of it. CPython: Objects/typeobject.c, type_call.
VarRef make_instance(Translator& t, const VarRef& type, const CallArgs& args);

namespace special {

VarRef call(Translator& t, const VarRef& self, const CallArgs& args);
VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right);
VarRef get_item(Translator& t, const VarRef& self, const VarRef& key);
void set_item(Translator& t, const VarRef& self, const VarRef& key, const VarRef& value);
VarRef iterate(Translator& t, const VarRef& self);
bool contains(Translator& t, const VarRef& self, const VarRef& value);
VarRef length(Translator& t, const VarRef& self);
VarRef truth(Translator& t, const VarRef& self);

// All of these, and how attributes are found and what a call is.
constexpr Slots slots_of_class(decltype(Slots::getattro) get, decltype(Slots::setattro) set,
                               decltype(Slots::call) call) {
  return {.getattro = get,
          .setattro = set,
          .call = call,
          .number = number,
          .subscript = get_item,
          .set_item = set_item,
          .iterate = iterate,
          .contains = contains,
          .length = length,
          .truth = truth};
}

}  // namespace special
}  // namespace torchdyn
