// Python objects, read without running Python, and the few calls that capture makes.
//   PyBorrow weight = dict_item(member(self, name("_parameters")), name("weight"));
//   PyRef sum = call_method(gil, graph, "call_function", {function, args});
//
// What reads is noexcept, allocates nothing after an object's first time, and gives null for what
// is not there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

// ---- Reading
// ---------------------------------------------------------------------------------------

// obj.__dict__, of a module or of an object whose type keeps its dict where CPython does.
PyBorrow dict_of(PyBorrow object) noexcept;
// obj.__dict__[name], of a module or of an object whose type keeps its dict where CPython does.
PyBorrow member(PyBorrow object, PyBorrow name) noexcept;
// dict[key], of an exact dict and an exact str.
PyBorrow dict_item(PyBorrow dict, PyBorrow key) noexcept;
// The same of any dict, whatever its class does.
PyBorrow contents_item(PyBorrow dict, PyBorrow key) noexcept;
// What a ContextVar has in this thread's context, or by default; null: nothing.
PyBorrow context_value(PyBorrow variable) noexcept;
PyBorrow cell_content(PyBorrow cell) noexcept;
// What a weak reference refers to; None where that is gone; null: it is no plain weak reference.
PyBorrow referent(PyBorrow reference) noexcept;
// The item of a tuple or of an exact list.
PyBorrow element(PyBorrow sequence, int index) noexcept;
// Of a tuple, an exact list or any dict; -1: something else.
Py_ssize_t length(PyBorrow object) noexcept;
// What a Python function consists of; null: no such function, or it has none.
enum class FunctionPart : uint8_t { kCode, kGlobals, kClosure, kDefaults, kNamedDefaults };
PyBorrow part_of(PyBorrow function, FunctionPart part) noexcept;
constexpr int kFunctionParts = 5;
const char* name_of(FunctionPart part);  // the function's attribute
// What CPython's _PyType_Lookup finds along the method resolution order.
PyBorrow type_attribute(PyTypeObject* type, PyBorrow name) noexcept;
// What a type that Python code has made has itself, without its bases.
PyBorrow own_attribute(PyBorrow type, PyBorrow name) noexcept;
// The function in a static method, a class method, the getter of a property; null: it is none.
PyBorrow static_function(PyBorrow object) noexcept;
PyBorrow class_function(PyBorrow object) noexcept;
PyBorrow property_getter(PyBorrow object) noexcept;
PyBorrow property_setter(PyBorrow object) noexcept;
PyBorrow unwrapped_function(PyBorrow object) noexcept;  // of any of these
// What an object keeps where a descriptor of __slots__ says; null: nothing, or it is no such one.
PyBorrow slot_value(PyBorrow object, PyBorrow descriptor) noexcept;
// Whether a descriptor of this type comes before an object's own members: it has __set__.
bool is_data_descriptor(PyBorrow object) noexcept;

// What does not change, of which equal ones cannot be told apart but by identity: None, numbers,
// strings, ranges, slices of these, dtypes, devices, sizes, NumPy's numbers; not of a subclass.
bool is_plain_constant(PyBorrow object) noexcept;
// numpy.float64 and its kin, but for what holds objects, text or time.
bool is_numpy_number_type(PyTypeObject* type) noexcept;
// Whether nothing but the same object is equal to it, by object's own __hash__ and __eq__.
bool has_identity_hash(PyBorrow object) noexcept;
bool equal_constants(PyBorrow a, PyBorrow b) noexcept;

// ---- Making and calling
// ----------------------------------------------------------------------------

PyRef name(std::string_view text);  // an interned str
// Of a namedtuple's class, or of one of CPython's structures; empty: it is none.
std::vector<std::string> field_names(PyTypeObject* type);
PyRef tuple_of(const std::vector<PyRef>& items);
PyRef tuple_of_borrowed(std::span<const PyBorrow> items);
std::vector<PyBorrow> items_of(PyBorrow tuple_or_list);
std::string text_of(PyBorrow object);  // str(object); runs its __str__
std::string_view utf8(PyBorrow str);

PyRef import_attribute(const Gil&, const char* module, const char* attribute);
PyRef attribute(const Gil&, PyBorrow object, const char* name);
PyRef call(const Gil&, PyBorrow callable, const PyRef& args, const PyRef& kwargs = PyRef());
PyRef call_method(const Gil&, PyBorrow object, const char* name,
                  std::initializer_list<PyBorrow> args);

// Whether the exception that is set is the program's to handle: Ctrl-C, exit().
bool stops_the_program() noexcept;
// The exception that is set, which is cleared; and the text of that.
PyRef take_exception(const Gil&);
std::string take_exception_text(const Gil&);

}  // namespace torchdyn
