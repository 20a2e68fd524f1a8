// What Python's operations do with any kind of value, by CPython's own algorithms.
//   VarRef y = protocol::call(t, relu, {{x}, {}});
#pragma once

#include "torchdyn/variables/variable.h"

namespace torchdyn::protocol {

// CPython: Objects/object.c, PyObject_GetAttr.
VarRef get_attribute(Translator& t, const VarRef& object, const std::string& name);
// CPython: Objects/call.c, _PyObject_MakeTpCall.
VarRef call(Translator& t, const VarRef& callable, const CallArgs& args);
// CPython: Objects/abstract.c, binary_op1: the left operand's slot, or the right one's. `function`
// is a name in the module operator.
VarRef number(Translator& t, const char* function, const VarRef& left, const VarRef& right);
// CPython: Objects/object.c, PyObject_IsTrue.
bool truth(Translator& t, const VarRef& value);
// `left is right`, of which one is None or a bool.
bool is_same(Translator& t, const VarRef& left, const VarRef& right);
bool is_none(Translator& t, const VarRef& value);
// CPython: Objects/abstract.c, PyObject_GetItem.
VarRef get_item(Translator& t, const VarRef& object, const VarRef& key);
// CPython: Objects/abstract.c, PyObject_SetItem.
void set_item(Translator& t, const VarRef& object, const VarRef& key, const VarRef& value);
// CPython: Objects/abstract.c, PyObject_DelItem; of dicts and lists.
void delete_item(Translator& t, const VarRef& object, const VarRef& key);
// CPython: Objects/abstract.c, PyObject_GetIter.
VarRef iterate(Translator& t, const VarRef& iterable);
std::vector<VarRef> all_items(Translator& t, const VarRef& iterable);
// CPython: Objects/abstract.c, PySequence_Contains; of constants in tuples, lists and dicts.
bool contains(Translator& t, const VarRef& container, const VarRef& value);
// CPython: Objects/abstract.c, PyObject_Size.
VarRef length(Translator& t, const VarRef& object);

// CPython: Objects/object.c, PyObject_SetAttr.
void set_attribute(Translator& t, const VarRef& object, const std::string& name,
                   const VarRef& value);

// Before `value` is written into `container`: one from outside will be changed. Breaks where there
// would be a cycle. Null: something is taken out.
void change(Translator& t, const VarRef& container, const VarRef& value);

}  // namespace torchdyn::protocol
