// Looks at each frame that a thread begins, and may give it other code to run.
//   class Capture : public Evaluator {
//     Replacement replacement(const Gil&, const FrameView& frame) override;
//   };
//   if (Verdict may = EvalScope::possible(gil); !may) ...
//   EvalScope scope(gil, &capture);      // this thread's frames, until the scope ends
//   PyRef result = owned(PyObject_CallNoArgs(function));
//
// PEP 523. CPython has one hook for all threads, and with it calls take half as long again: it is
// there only while some thread is in a scope. What was there before gets every frame after us, and
// is there again afterwards, whatever else comes and goes in between.
//
// As they are run: frames of generators and coroutines (their callees are looked at), frames of
// modules and class bodies, and all that a tracer, a profiler or a monitoring tool watches.
#pragma once

#include <string_view>

#include "torchdyn/cpython/abi.h"

namespace torchdyn {

// What a frame runs instead.
struct Replacement {
  PyRef code = {};   // takes the frame's arguments and free variables; null: it runs as it is
  PyRef given = {};  // what the code finds in a local of its own; null: nothing
  int given_slot = 0;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Where this throws the frame runs as it is, too. Frames that begin meanwhile are not looked at.
  virtual Replacement replacement(const Gil&, const FrameView& frame) = 0;

  // A frame runs as it is, for another reason than the evaluator's. Runs no Python.
  virtual void left_alone(const FrameView&, std::string_view /*reason*/) noexcept {}
};

// Ends on the thread that it began on, in the order of scopes. Null: frames are not looked at.
class EvalScope {
 public:
  EvalScope(const Gil& gil, Evaluator* evaluator);
  ~EvalScope();
  EvalScope(const EvalScope&) = delete;

  // No in a subinterpreter: objects of ours would be shared with another one.
  static Verdict possible(const Gil&);

 private:
  Evaluator* before_;
  bool counted_;
};

// A function that calls `callable` with its arguments and looks at no frame meanwhile.
PyRef called_unseen(const Gil&, PyBorrow callable);

// Whether CPython calls us now for every frame.
bool is_hook_installed(const Gil&);

}  // namespace torchdyn
