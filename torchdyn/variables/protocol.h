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
// The next of an iterator; null: there is no more.
VarRef next(Translator& t, const VarRef& iterator);
std::vector<VarRef> all_items(Translator& t, const VarRef& iterable);
// CPython: Objects/abstract.c, PySequence_Contains; of constants in tuples, lists and dicts.
bool contains(Translator& t, const VarRef& container, const VarRef& value);
// CPython: Objects/abstract.c, PyObject_Size.
VarRef length(Translator& t, const VarRef& object);

// The object that a value is, of constants and what is made of them; null: it is none.
PyRef as_constant(const VarRef& value);
// The value of an object that was made of constants alone.
VarRef from_constant(PyRef object);
// Calls a function that does nothing but compute, of constants. Breaks where another is among them.
VarRef fold(Translator& t, PyBorrow function, const CallArgs& args);  // a BuiltinHandler too

// CPython: Objects/object.c, PyObject_SetAttr.
void set_attribute(Translator& t, const VarRef& object, const std::string& name,
                   const VarRef& value);

// Before `value` is written into `container`: one from outside will be changed. Breaks where there
// would be a cycle. Null: something is taken out.
void change(Translator& t, const VarRef& container, const VarRef& value);

}  // namespace torchdyn::protocol
