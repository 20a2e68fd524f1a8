// References to Python objects, with who owns them in the type.
//   PyRef tuple = owned(PyTuple_New(2));      // PythonError where CPython returned null
//   PyBorrow first = borrowed(PyTuple_GET_ITEM(tuple.get(), 0));
//   PyRef mine = PyRef::to(first);            // one reference more
//
// Gil is a token: who has one holds the GIL. All of these need it, destructors too. Raw pointers
// stay in this folder and in extension modules.
#pragma once

#include <stdexcept>
#include <utility>

#include <Python.h>

#include "aten_bridge/base/check.h"

namespace torchdyn {

class Gil {
 public:
  // For functions that CPython calls.
  static Gil held() {
    TD_CHECK(PyGILState_Check(), "this thread does not hold the GIL");
    return Gil();
  }
  // For those too that run once a Python call, where the check would cost more than they do.
  static Gil held_surely() { return Gil(); }

 private:
  Gil() = default;
};

// An exception is set in CPython's thread state; whoever catches this clears it or returns null.
class PythonError : public std::runtime_error {
 public:
  PythonError() : std::runtime_error("a Python exception is set") {}
};

class PyBorrow {
 public:
  PyBorrow() = default;  // null
  explicit PyBorrow(PyObject* object) : object_(object) {}

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(PyBorrow, PyBorrow) = default;  // the same object

 private:
  PyObject* object_ = nullptr;
};

class [[nodiscard]] PyRef {
 public:
  PyRef() = default;
  static PyRef to(PyBorrow object) { return PyRef(Py_XNewRef(object.get())); }
  static PyRef steal(PyObject* object) { return PyRef(object); }

  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  operator PyBorrow() const { return PyBorrow(object_); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit PyRef(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// The result of a CPython function that returns a new reference, or null with an exception set.
inline PyRef owned(PyObject* result) {
  if (!result) throw PythonError();
  return PyRef::steal(result);
}

// The same of one that lends what it returns.
inline PyBorrow borrowed(PyObject* result) {
  if (!result) throw PythonError();
  return PyBorrow(result);
}

}  // namespace torchdyn
