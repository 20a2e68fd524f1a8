// How a frame ends that goes on elsewhere: with a tuple that only the hook sees (eval_hook.h). It
// names a resume function and what that takes; the function's result is the frame's.
//   (mark, points or None, number, value, value, ...)
//
// So a frame that was cut has returned before the rest of it runs: the rest stands in its place on
// the stack, in tracebacks as well, and a loop with a cut in it needs no deeper stack.
#pragma once

#include <memory>
#include <vector>

#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

// Code objects of the functions in which the frames of one code object go on. Frames that go on
// keep it alive; it keeps nothing that leads back to that code object.
struct ResumePoints {
  virtual ~ResumePoints() = default;
  std::vector<PyRef> codes;
};

PyBorrow continuation_mark(const Gil&);
// For the tuple of a frame of that code object; frames of resume functions have None there.
PyRef points_object(const Gil&, std::shared_ptr<ResumePoints> points);

bool is_continuation(PyBorrow result) noexcept;

// What a continuation says, taken out of it.
class Continuation {
 public:
  explicit Continuation(PyRef tuple);

  PyBorrow points() const { return PyBorrow(PyTuple_GET_ITEM(tuple_.get(), 1)); }  // may be None
  size_t number() const { return PyLong_AsSize_t(PyTuple_GET_ITEM(tuple_.get(), 2)); }
  std::vector<PyRef> take_values();

 private:
  PyRef tuple_;
};

// The function of that number, with the globals and the closure of `function`.
PyRef resume_function(const Gil&, PyBorrow points, size_t number, PyBorrow function);

}  // namespace torchdyn
