// Looking at code objects and at frames that are about to run, alike in all versions of CPython.
//   FrameView frame(thread, raw);
//   if (Verdict may = frame.may_become_other(); may) frame.become(gil, code);
//
// Views borrow: a FrameView is valid until the frame is evaluated, a CodeView as long as its
// object.
#pragma once

#include <string_view>

#include "aten_bridge/base/verdict.h"
#include "torchdyn/bytecode/version.h"
#include "torchdyn/cpython/abi_c.h"
#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

using aten_bridge::Verdict;

// The CPython that this was compiled for.
PythonVersion running_version();

class CodeView {
 public:
  explicit CodeView(PyCodeObject* code) : code_(code) {}
  static bool is_code(PyBorrow object) { return PyCode_Check(object.get()); }
  static CodeView of(PyBorrow object);  // is_code

  PyBorrow object() const { return PyBorrow(reinterpret_cast<PyObject*>(code_)); }
  PyCodeObject* get() const { return code_; }

  std::string_view name() const;
  int first_line() const { return code_->co_firstlineno; }
  int flags() const { return code_->co_flags; }
  PyBorrow constants() const { return PyBorrow(code_->co_consts); }
  PyBorrow names() const { return PyBorrow(code_->co_names); }

  // Slots of its frames: arguments (with *args and **kwargs), other locals, cells, free variables.
  int arguments() const;
  int locals() const { return code_->co_nlocals; }  // arguments among them
  int slots() const { return code_->co_nlocalsplus; }
  int free_slots() const { return code_->co_nfreevars; }
  std::string_view slot_name(int slot) const;

  // Calls give a generator, a coroutine or an asynchronous generator; its frame runs in pieces.
  bool is_generator() const;
  // Its locals are slots: a function's, not a class body's or a module's.
  bool is_function() const;

 private:
  PyCodeObject* code_;
};

class FrameView {
 public:
  FrameView(PyThreadState* thread, TdFrame* frame) : thread_(thread), frame_(frame) {}

  CodeView code() const { return CodeView(td_frame_code(frame_)); }
  PyBorrow function() const;  // null outside of functions
  PyBorrow globals() const { return PyBorrow(td_frame_globals(frame_)); }
  PyBorrow builtins() const { return PyBorrow(td_frame_builtins(frame_)); }
  // Null where unbound. Before the first instruction, an argument that will be in a cell is bare,
  // and a free variable is the cell in the function's closure.
  PyBorrow local(int slot) const;
  int next_unit() const { return td_frame_next_unit(frame_); }

  // Whether a tracer, a profiler or a monitoring tool sees this frame run; the reason if it does.
  Verdict is_unwatched() const;
  // Whether become() may be called: a function's frame, begun by nobody, held by nobody.
  Verdict may_become_other() const;
  // Lets the frame run `code` in place of its own, with its arguments, globals and closure. No, and
  // nothing is changed, where `code` takes other arguments or free variables, or more stack than
  // there is here; yes, and code() is `code`. Its `given_slot`, a local that is no argument, holds
  // `given` then.
  Verdict become(const Gil&, CodeView code, PyRef given = PyRef(), int given_slot = 0) const;

 private:
  PyThreadState* thread_;
  TdFrame* frame_;
};

}  // namespace torchdyn
