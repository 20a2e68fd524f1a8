#include "torchdyn/cpython/continuation.h"

namespace torchdyn {
namespace {

constexpr const char* kName = "torchdyn.resume_points";
constexpr Py_ssize_t kHead = 3;  // the mark, the points, the number

using Owner = std::shared_ptr<ResumePoints>;

void destroy(PyObject* capsule) {
  delete static_cast<Owner*>(PyCapsule_GetPointer(capsule, kName));
}

PyObject* mark() {
  static PyObject* const made =
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return made;
}

}  // namespace

PyBorrow continuation_mark(const Gil&) { return borrowed(mark()); }

PyRef points_object(const Gil&, Owner points) {
  auto owner = std::make_unique<Owner>(std::move(points));
  PyRef capsule = owned(PyCapsule_New(owner.get(), kName, destroy));
  (void)owner.release();
  return capsule;
}

bool is_continuation(PyBorrow result) noexcept {
  return result && PyTuple_CheckExact(result.get()) && PyTuple_GET_SIZE(result.get()) >= kHead &&
         PyTuple_GET_ITEM(result.get(), 0) == mark();
}

Continuation::Continuation(PyRef tuple) : tuple_(std::move(tuple)) {
  TD_CHECK(is_continuation(tuple_), "a continuation");
}

std::vector<PyRef> Continuation::take_values() {
  std::vector<PyRef> values;
  for (Py_ssize_t n = kHead; n < PyTuple_GET_SIZE(tuple_.get()); ++n)
    values.push_back(PyRef::to(PyBorrow(PyTuple_GET_ITEM(tuple_.get(), n))));
  tuple_ = PyRef();
  return values;
}

PyRef resume_function(const Gil&, PyBorrow points, size_t number, PyBorrow function) {
  const auto* const owner = static_cast<Owner*>(PyCapsule_GetPointer(points.get(), kName));
  if (!owner) throw PythonError();
  PyRef made = owned(
      PyFunction_New((*owner)->codes.at(number).get(), PyFunction_GetGlobals(function.get())));
  PyObject* const closure = PyFunction_GetClosure(function.get());
  if (closure && PyFunction_SetClosure(made.get(), closure) != 0) throw PythonError();
  return made;
}

}  // namespace torchdyn
