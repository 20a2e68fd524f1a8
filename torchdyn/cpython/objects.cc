#include "torchdyn/cpython/objects.h"

#include <algorithm>
#include <cstring>

#include <structmember.h>

#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

// CPython's accessors set an exception for what is not there; somebody's may be set already.
PyBorrow found(PyObject* object) noexcept {
  if (!object) PyErr_Clear();
  return PyBorrow(object);
}

struct PartRow {
  const char* name;
  PyObject* (*get)(PyObject*);
};

// By FunctionPart.
constexpr PartRow kParts[] = {{"__code__", PyFunction_GetCode},
                              {"__globals__", PyFunction_GetGlobals},
                              {"__closure__", PyFunction_GetClosure},
                              {"__defaults__", PyFunction_GetDefaults},
                              {"__kwdefaults__", PyFunction_GetKwDefaults}};

}  // namespace

PyBorrow dict_of(PyBorrow object) noexcept {
  if (!object) return PyBorrow();
  if (PyModule_Check(object.get())) return PyBorrow(PyModule_GetDict(object.get()));
  const PyRef dict = PyRef::steal(PyObject_GenericGetDict(object.get(), nullptr));
  return dict ? PyBorrow(dict) : found(nullptr);  // the object keeps its dict
}

PyBorrow member(PyBorrow object, PyBorrow name) noexcept {
  return dict_item(dict_of(object), name);
}

PyBorrow dict_item(PyBorrow dict, PyBorrow key) noexcept {
  if (!dict || !PyDict_CheckExact(dict.get())) return PyBorrow();
  return found(PyDict_GetItemWithError(dict.get(), key.get()));
}

PyBorrow contents_item(PyBorrow dict, PyBorrow key) noexcept {
  if (!dict || !PyDict_Check(dict.get())) return PyBorrow();
  return found(PyDict_GetItemWithError(dict.get(), key.get()));
}

PyBorrow context_value(PyBorrow variable) noexcept {
  if (!variable || !PyContextVar_CheckExact(variable.get())) return PyBorrow();
  PyObject* value = nullptr;
  if (PyContextVar_Get(variable.get(), nullptr, &value) != 0) return found(nullptr);
  const PyRef kept = PyRef::steal(value);  // the context keeps it, or the variable does
  return kept;
}

PyBorrow cell_content(PyBorrow cell) noexcept {
  return cell && PyCell_Check(cell.get()) ? PyBorrow(PyCell_GET(cell.get())) : PyBorrow();
}

PyBorrow referent(PyBorrow reference) noexcept {
  if (!reference || !PyWeakref_CheckRefExact(reference.get())) return PyBorrow();
  PyObject* const object = reinterpret_cast<PyWeakReference*>(reference.get())->wr_object;
  return PyBorrow(Py_REFCNT(object) > 0 ? object : Py_None);
}

PyBorrow element(PyBorrow sequence, int index) noexcept {
  if (!sequence || index < 0 || index >= length(sequence)) return PyBorrow();
  if (PyTuple_Check(sequence.get())) return PyBorrow(PyTuple_GET_ITEM(sequence.get(), index));
  return PyList_CheckExact(sequence.get()) ? PyBorrow(PyList_GET_ITEM(sequence.get(), index))
                                           : PyBorrow();
}

Py_ssize_t length(PyBorrow object) noexcept {
  if (PyTuple_Check(object.get())) return PyTuple_GET_SIZE(object.get());
  if (PyList_CheckExact(object.get())) return PyList_GET_SIZE(object.get());
  return PyDict_Check(object.get()) ? PyDict_Size(object.get()) : -1;
}

PyBorrow part_of(PyBorrow function, FunctionPart part) noexcept {
  if (!function || !PyFunction_Check(function.get())) return PyBorrow();
  return PyBorrow(kParts[static_cast<int>(part)].get(function.get()));
}

const char* name_of(FunctionPart part) { return kParts[static_cast<int>(part)].name; }

PyBorrow type_attribute(PyTypeObject* type, PyBorrow name) noexcept {
  return PyBorrow(_PyType_Lookup(type, name.get()));
}

bool is_data_descriptor(PyBorrow object) noexcept {
  return object && Py_TYPE(object.get())->tp_descr_set != nullptr;
}

PyBorrow own_attribute(PyBorrow type, PyBorrow name) noexcept {
  if (!type || !PyType_Check(type.get())) return PyBorrow();
  return dict_item(PyBorrow(reinterpret_cast<PyTypeObject*>(type.get())->tp_dict), name);
}

namespace {

// Objects/funcobject.c and Objects/descrobject.c: the function comes first in all three.
struct Wrapper {
  PyObject head;
  PyObject* function;
  PyObject* setter;  // of a property
};

PyBorrow function_in(PyBorrow object, PyTypeObject* type) noexcept {
  if (!object || Py_TYPE(object.get()) != type) return PyBorrow();
  return PyBorrow(reinterpret_cast<const Wrapper*>(object.get())->function);
}

}  // namespace

PyBorrow static_function(PyBorrow object) noexcept {
  return function_in(object, &PyStaticMethod_Type);
}

PyBorrow class_function(PyBorrow object) noexcept {
  return function_in(object, &PyClassMethod_Type);
}

PyBorrow property_getter(PyBorrow object) noexcept { return function_in(object, &PyProperty_Type); }

PyBorrow property_setter(PyBorrow object) noexcept {
  if (!object || Py_TYPE(object.get()) != &PyProperty_Type) return PyBorrow();
  return PyBorrow(reinterpret_cast<const Wrapper*>(object.get())->setter);
}

PyBorrow unwrapped_function(PyBorrow object) noexcept {
  if (const PyBorrow found = static_function(object)) return found;
  if (const PyBorrow found = class_function(object)) return found;
  return property_getter(object);
}

// CPython: Python/structmember.c, PyMember_GetOne.
PyBorrow slot_value(PyBorrow object, PyBorrow descriptor) noexcept {
  if (!descriptor || Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) return PyBorrow();
  const auto* const raw = reinterpret_cast<const PyMemberDescrObject*>(descriptor.get());
  if ((raw->d_member->type != T_OBJECT_EX && raw->d_member->type != T_OBJECT) ||
      !PyObject_TypeCheck(object.get(), raw->d_common.d_type))
    return PyBorrow();
  return PyBorrow(
      *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object.get()) + raw->d_member->offset));
}

bool is_plain_constant(PyBorrow object) noexcept {
  PyObject* const o = object.get();
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyUnicode_CheckExact(o) || PyComplex_CheckExact(o) || PyBytes_CheckExact(o) ||
      Py_TYPE(o) == &PyRange_Type || o == Py_Ellipsis || o == Py_NotImplemented)
    return true;
  if (PySlice_Check(o)) {
    const auto* const slice = reinterpret_cast<const PySliceObject*>(o);
    return is_plain_constant(PyBorrow(slice->start)) && is_plain_constant(PyBorrow(slice->stop)) &&
           is_plain_constant(PyBorrow(slice->step));
  }
  if (is_numpy_number_type(Py_TYPE(o))) return true;
  const std::string_view type = Py_TYPE(o)->tp_name;
  return type == "torch.dtype" || type == "torch.device" || type == "torch.layout" ||
         type == "torch.memory_format" || type == "torch.Size";
}

bool is_numpy_number_type(PyTypeObject* type) noexcept {
  constexpr std::string_view kNumbers[] = {"bool",   "int8",    "int16",   "int32",
                                           "int64",  "uint8",   "uint16",  "uint32",
                                           "uint64", "float16", "float32", "float64"};
  std::string_view name = type->tp_name;
  if (!name.starts_with("numpy.")) return false;
  name.remove_prefix(6);
  return std::find(std::begin(kNumbers), std::end(kNumbers), name) != std::end(kNumbers);
}

bool has_identity_hash(PyBorrow object) noexcept {
  const PyTypeObject* const type = Py_TYPE(object.get());
  return type->tp_hash == PyBaseObject_Type.tp_hash &&
         (type->tp_richcompare == PyBaseObject_Type.tp_richcompare ||
          type->tp_richcompare == PyType_Type.tp_richcompare || !type->tp_richcompare);
}

bool equal_constants(PyBorrow a, PyBorrow b) noexcept {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a.get()) != Py_TYPE(b.get())) return false;
  if (PyFloat_CheckExact(a.get())) {  // by bits: NaN is itself, and 0.0 is not -0.0
    const double x = PyFloat_AS_DOUBLE(a.get()), y = PyFloat_AS_DOUBLE(b.get());
    return std::memcmp(&x, &y, sizeof(double)) == 0;
  }
  if (PyUnicode_CheckExact(a.get())) return PyUnicode_Compare(a.get(), b.get()) == 0;
  if (PyComplex_CheckExact(a.get())) {
    const Py_complex x = PyComplex_AsCComplex(a.get()), y = PyComplex_AsCComplex(b.get());
    return std::memcmp(&x, &y, sizeof(x)) == 0;
  }
  if (!is_plain_constant(a)) return false;
  const int equal = PyObject_RichCompareBool(a.get(), b.get(), Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

PyRef name(std::string_view text) {
  PyObject* made =
      owned(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())))
          .release();
  PyUnicode_InternInPlace(&made);
  return PyRef::steal(made);
}

std::vector<std::string> field_names(PyTypeObject* type) {
  std::vector<std::string> names;
  if (!PyType_IsSubtype(type, &PyTuple_Type)) return names;
  PyBorrow fields = type_attribute(type, name("_fields"));
  if (!fields) fields = type_attribute(type, name("__match_args__"));
  if (!fields || !PyTuple_CheckExact(fields.get())) return names;
  for (const PyBorrow field : items_of(fields)) names.emplace_back(utf8(field));
  return names;
}

PyRef tuple_of(const std::vector<PyRef>& items) {
  PyRef tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i].get()));
  return tuple;
}

PyRef tuple_of_borrowed(std::span<const PyBorrow> items) {
  PyRef tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i].get()));
  return tuple;
}

std::vector<PyBorrow> items_of(PyBorrow sequence) {
  TD_CHECK(PyTuple_Check(sequence.get()) || PyList_Check(sequence.get()), "a tuple or a list");
  PyObject** const items = PySequence_Fast_ITEMS(sequence.get());
  std::vector<PyBorrow> all;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    all.emplace_back(items[i]);
  return all;
}

std::string text_of(PyBorrow object) {
  return std::string(utf8(owned(PyObject_Str(object.get()))));
}

std::string_view utf8(PyBorrow str) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(str.get(), &size);
  if (!text) throw PythonError();
  return {text, static_cast<size_t>(size)};
}

PyRef import_attribute(const Gil& gil, const char* module, const char* name) {
  return attribute(gil, owned(PyImport_ImportModule(module)), name);
}

PyRef attribute(const Gil&, PyBorrow object, const char* name) {
  return owned(PyObject_GetAttrString(object.get(), name));
}

PyRef call(const Gil&, PyBorrow callable, const PyRef& args, const PyRef& kwargs) {
  return owned(PyObject_Call(callable.get(), args.get(), kwargs.get()));
}

PyRef call_method(const Gil& gil, PyBorrow object, const char* name,
                  std::initializer_list<PyBorrow> args) {
  std::vector<PyRef> items;
  for (const PyBorrow arg : args) items.push_back(PyRef::to(arg));
  return call(gil, attribute(gil, object, name), tuple_of(items));
}

bool stops_the_program() noexcept {
  return PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception);
}

PyRef take_exception(const Gil&) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef owners[] = {PyRef::steal(type), PyRef::steal(traceback)};
  return PyRef::steal(value);
}

std::string take_exception_text(const Gil&) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PyRef owners[] = {PyRef::steal(type), PyRef::steal(value), PyRef::steal(traceback)};
  if (!type) return "";
  const PyRef text = PyRef::steal(value ? PyObject_Str(value) : nullptr);
  if (!text) PyErr_Clear();
  return aten_bridge::str_cat(reinterpret_cast<PyTypeObject*>(type)->tp_name, ": ",
                              text ? utf8(text) : std::string_view("?"));
}

}  // namespace torchdyn
