// Exceptions that the frame makes and raises.
//   raise(t, PyBorrow(PyExc_KeyError), {key});    // in handlers of opcodes, slots and builtins
//   catch (const Raised& raised) { if (!is_a(raised, PyBorrow(PyExc_StopIteration))) throw; }
//
// A handler in the frame or in a callee that is captured takes it. Where none does, the frame is
// cut at its own instruction that raised, so that CPython raises it: what escapes has eager's
// traceback.
#pragma once

#include "torchdyn/variables/kinds.h"

namespace torchdyn {

class ExceptionVariable : public InstanceVariable {
 public:
  ExceptionVariable(VarRef type, std::vector<VarRef> args)
      : InstanceVariable(std::move(type)), args_(std::move(args)) {}

  std::vector<VarRef> parts() const override;
  // One that was raised has a traceback, which only CPython can make: a break.
  void rebuild(CodeWriter& w) const override;

  const std::vector<VarRef>& args() const { return args_; }
  void set_args(std::vector<VarRef> args) const { args_ = std::move(args); }
  // What str() gives; breaks where that is not known.
  std::string message() const;
  // Type and message, for people.
  std::string description() const;

  mutable VarRef cause, context;  // null: none
  mutable bool hides_context = false;
  mutable bool was_raised = false;
  // Where the frame itself was when it was raised, counted as Translator::steps(); 0: never there.
  mutable int raised_at = 0, raised_on_line = 0;

 private:
  mutable std::vector<VarRef> args_;
};

// Thrown by handlers; caught where an activation's instructions run, or where an operation of
// Python's itself handles it.
struct Raised {
  std::shared_ptr<const ExceptionVariable> exception;
};

// With what is being handled as its context.
[[noreturn]] void raise(Translator& t, PyBorrow type, std::vector<VarRef> args);
[[noreturn]] void raise(Translator& t, PyBorrow type, std::string_view message);
// The exception that is set in CPython. Breaks where it is not made of constants.
[[noreturn]] void raise_python_error(Translator& t);

bool is_a(const Raised& raised, PyBorrow type);
void set_context(const std::shared_ptr<const ExceptionVariable>& exception, const VarRef& handled);

// CPython: Objects/exceptions.c: what is no member of any object's. Null: there is none.
VarRef attribute_of_exception(Translator& t, const VarRef& self, const std::string& name);
// Whether calling the class makes an exception as BaseException's own __new__ does.
bool makes_exceptions(PyTypeObject* type);

}  // namespace torchdyn
