#include "torchdyn/variables/numpy_numbers.h"

#include <algorithm>

#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// Functions that are no ufuncs.
constexpr std::string_view kFunctions[] = {"max", "mean", "min", "prod", "round", "sum"};

std::string_view type_of(PyBorrow object) { return Py_TYPE(object.get())->tp_name; }

// NumPy's own, which lives as long as the process does: others may run Python.
bool is_numpys(PyBorrow function) {
  const PyRef name = owned(PyObject_GetAttrString(function.get(), "__name__"));
  const bool is_listed =
      std::find(std::begin(kFunctions), std::end(kFunctions), utf8(name)) != std::end(kFunctions);
  if (type_of(function) != "numpy.ufunc" && !is_listed) return false;
  const PyRef numpy = PyRef::steal(PyImport_GetModule(torchdyn::name("numpy").get()));
  return numpy && member(numpy, name) == function;
}

}  // namespace

bool gives_numbers(PyBorrow object) {
  if (PyType_Check(object.get()))
    return is_numpy_number_type(reinterpret_cast<PyTypeObject*>(object.get()));
  const std::string_view type = type_of(object);
  return (type == "numpy.ufunc" || type == "numpy._ArrayFunctionDispatcher") && is_numpys(object);
}

VarRef call_on_numbers(Translator& t, const VarRef& function, const CallArgs& args) {
  const PyBorrow object = function->object();
  if (PyType_Check(object.get())) {
    t.guards().add(function->source(), *IsType::of(object));
  } else {  // it takes no weak references
    t.guards().add(function->source(), Alias{Source::fixed(object, type_of(object)), true});
  }
  VarRef result = protocol::fold(t, object, args);
  if (!result->object() || !is_plain_constant(result->object()))
    break_graph(BreakReason::kCall, function->source()->text() + " that gives an array");
  return result;
}

PyRef plain_number(PyBorrow constant) {
  if (!is_numpy_number_type(Py_TYPE(constant.get()))) return PyRef::to(constant);
  return owned(PyObject_CallMethod(constant.get(), "item", nullptr));
}

}  // namespace torchdyn
