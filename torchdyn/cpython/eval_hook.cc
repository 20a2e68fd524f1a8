#include "torchdyn/cpython/eval_hook.h"

#include <utility>
#include <vector>

#include "torchdyn/cpython/continuation.h"

namespace torchdyn {
namespace {

using EvalFunction = _PyFrameEvalFunction;

PyObject* evaluate(PyThreadState* thread, TdFrame* frame, int throwing);

// ---- The hook of the interpreter
// -------------------------------------------------------------------

// Guarded by the GIL, as CPython's pointer is.
struct Installation {
  int scopes = 0;  // of all threads
  // What was there each time that we were installed, oldest first. More than one, where another
  // hook came above us, we ended below it and began above it again.
  std::vector<EvalFunction> beneath;
};

Installation& installation() {
  static auto* const installed = new Installation;  // frames run until the process ends
  return *installed;
}

PyInterpreterState* interpreter() { return PyInterpreterState_Main(); }

EvalFunction on_top() { return _PyInterpreterState_GetEvalFrameFunc(interpreter()); }

void install() {
  if (on_top() == evaluate) return;
  auto& beneath = installation().beneath;
  if (on_top() == _PyEval_EvalFrameDefault) beneath.clear();  // nobody is below, hence not we
  beneath.push_back(on_top());
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), evaluate);
}

// What gets a frame that we have passed on `times` times already.
EvalFunction beneath_us(size_t times) {
  const auto& beneath = installation().beneath;
  return times < beneath.size() ? beneath[beneath.size() - 1 - times] : _PyEval_EvalFrameDefault;
}

// Another hook may be above us by now: then we stay below it, and pass on what we get.
void uninstall() {
  if (on_top() != evaluate) return;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), beneath_us(0));
  auto& beneath = installation().beneath;
  if (!beneath.empty()) beneath.pop_back();
}

// ---- One frame
// -------------------------------------------------------------------------------------

// Thread-local because a scope is: what this thread's frames meet.
thread_local Evaluator* evaluator = nullptr;

// The frame that this thread passed on last, and how often: a hook above us that is also below us
// gives it to us once more.
struct Passing {
  const TdFrame* frame = nullptr;
  size_t times = 0;
};
thread_local Passing passing;

// Gives `value` to a variable until the end of the block.
template <class T>
class Holding {
 public:
  Holding(T* variable, T value) : variable_(variable), before_(std::exchange(*variable, value)) {}
  ~Holding() { *variable_ = before_; }
  Holding(const Holding&) = delete;

 private:
  T* variable_;
  T before_;
};

PyObject* pass_on(PyThreadState* thread, TdFrame* frame, int throwing) {
  const size_t times = passing.frame == frame ? passing.times + 1 : 0;
  const EvalFunction next = beneath_us(times);
  if (next == _PyEval_EvalFrameDefault) return next(thread, frame, throwing);
  const Holding<Passing> held(&passing, {frame, times});
  return next(thread, frame, throwing);
}

// An exception of the evaluator's own is not the program's. Ctrl-C is: it is raised in the frame.
void drop_exception() {
  const bool interrupted = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  PyErr_Clear();
  if (interrupted) PyErr_SetInterrupt();
}

Verdict consider(const FrameView& frame) {
  if (Verdict may = frame.may_become_other(); !may) return may;
  if (Verdict unwatched = frame.is_unwatched(); !unwatched) return unwatched;
  const Gil gil = Gil::held_surely();
  Evaluator* const mine = evaluator;
  const Holding<Evaluator*> closed(&evaluator, nullptr);
  Replacement other = mine->replacement(gil, frame);
  if (!other.code) return Verdict::yes();
  return frame.become(gil, CodeView::of(other.code), std::move(other.given), other.given_slot);
}

// The frame's function, where the frame runs other code from now on.
PyRef look_at(const FrameView& frame) noexcept {
  const PyCodeObject* const before = frame.code().get();
  try {
    if (const Verdict done = consider(frame); !done) evaluator->left_alone(frame, done.reason());
  } catch (const std::exception& error) {
    drop_exception();
    evaluator->left_alone(frame, error.what());
  }
  return frame.code().get() == before ? PyRef() : PyRef::to(frame.function());
}

PyObject* run(PyThreadState* thread, TdFrame* frame, int throwing) {
  if (installation().scopes > 0 || on_top() != evaluate) return pass_on(thread, frame, throwing);
  // Who came above us has given us back after our last scope ended.
  uninstall();
  return on_top()(thread, frame, throwing);
}

// ---- What goes on
// ----------------------------------------------------------------------------------

// The resume function that this thread is about to call, and its arguments, which the function's
// frame owns as well when it begins: then they are let go here.
struct Resuming {
  const PyObject* function = nullptr;
  std::vector<PyRef>* arguments = nullptr;
};
thread_local Resuming resuming;

PyRef call_resume_function(PyBorrow function, std::vector<PyRef> arguments) {
  std::vector<PyObject*> raw;
  for (const PyRef& argument : arguments) raw.push_back(argument.get());
  const Holding<Resuming> held(&resuming, {function.get(), &arguments});
  return owned(PyObject_Vectorcall(function.get(), raw.data(), raw.size(), nullptr));
}

// Calls one resume function after the other, until one gives a result.
PyRef finish(PyRef result, PyBorrow function) {
  const Gil gil = Gil::held_surely();
  PyRef points;
  while (is_continuation(result)) {
    Continuation next(std::move(result));
    if (!points) points = PyRef::to(next.points());
    const PyRef resumed = resume_function(gil, points, next.number(), function);
    result = call_resume_function(resumed, next.take_values());
  }
  return result;
}

PyObject* evaluate(PyThreadState* thread, TdFrame* frame, int throwing) {
  const FrameView view(thread, frame);
  const bool is_resumed =
      resuming.function != nullptr && view.function().get() == resuming.function;
  if (is_resumed) {
    resuming.arguments->clear();
    resuming = {};
  }
  const bool is_new = passing.frame != frame;
  const PyRef replaced = evaluator && is_new && !throwing ? look_at(view) : PyRef();
  PyRef result = PyRef::steal(run(thread, frame, throwing));
  if (!replaced || is_resumed || !is_continuation(result)) return result.release();
  try {
    return finish(std::move(result), replaced).release();
  } catch (const PythonError&) {
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace

Verdict EvalScope::possible(const Gil&) {
  if (PyInterpreterState_Get() != interpreter())
    return Verdict::no("a subinterpreter: frames are captured in the main one alone");
  return Verdict::yes();
}

EvalScope::EvalScope(const Gil& gil, Evaluator* added)
    : before_(evaluator), counted_(added != nullptr) {
  if (const Verdict may = possible(gil); !may) TD_CHECK(false, may.reason());
  evaluator = added;
  if (!counted_) return;
  install();
  ++installation().scopes;
}

EvalScope::~EvalScope() {
  evaluator = before_;
  if (counted_ && --installation().scopes == 0) uninstall();
}

namespace {

PyObject* call_unseen(PyObject* callable, PyObject* const* args, Py_ssize_t count,
                      PyObject* names) {
  const EvalScope closed(Gil::held_surely(), nullptr);
  return PyObject_Vectorcall(callable, args, static_cast<size_t>(count), names);
}

PyMethodDef call_unseen_definition = {
    "call_unseen", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_unseen)),
    METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

PyRef called_unseen(const Gil&, PyBorrow callable) {
  return owned(PyCFunction_New(&call_unseen_definition, callable.get()));
}

bool is_hook_installed(const Gil&) { return on_top() == evaluate; }

}  // namespace torchdyn
