// What the test module offers to Python, by the file that defines it.
//   static PyMethodDef methods[] = {{"disassemble", entry<disassembled>, METH_VARARGS, ""}, ...};
#pragma once

#include <exception>

#include "torchdyn/cpython/py_ref.h"

namespace torchdyn::testing {

using Function = PyRef(const Gil&, PyObject* args);

// A function of ours as one of CPython's.
template <Function* body>
PyObject* entry(PyObject* /*module*/, PyObject* args) {
  try {
    return body(Gil::held(), args).release();
  } catch (const PythonError&) {
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

inline PyRef none() { return PyRef::to(PyBorrow(Py_None)); }

// The arguments, as PyArg_ParseTuple's format says.
template <class... Results>
void read_arguments(PyObject* args, const char* format, Results*... results) {
  if (!PyArg_ParseTuple(args, format, results...)) throw PythonError();
}

extern PyMethodDef kBytecodeFunctions[];
extern PyMethodDef kDictFunctions[];
extern PyMethodDef kHookFunctions[];
extern PyMethodDef kOtherHookFunctions[];

}  // namespace torchdyn::testing
