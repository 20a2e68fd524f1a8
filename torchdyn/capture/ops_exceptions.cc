// Exceptions that the frame raises and handles itself; those of others come and go in CPython.
#include <algorithm>

#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using ExceptionRef = std::shared_ptr<const ExceptionVariable>;

ExceptionRef own_exception(const VarRef& value) {
  auto exception = std::dynamic_pointer_cast<const ExceptionVariable>(value);
  if (!exception) break_graph(BreakReason::kExceptions, "an exception that came from elsewhere");
  return exception;
}

// CPython: Python/bytecodes.c, PUSH_EXC_INFO. What was handled before waits below the exception.
void begin_handler(Translator& t, const Instruction&) {
  VarRef raised = t.pop();
  (void)own_exception(raised);
  t.push(t.handled() ? t.handled() : none());
  t.set_handled(raised);
  t.push(std::move(raised));
}

void end_handler(Translator& t, const Instruction&) {
  (void)own_exception(t.handled());
  VarRef before = t.pop();
  t.set_handled(std::dynamic_pointer_cast<const ExceptionVariable>(before) ? before : nullptr);
}

// CPython: Python/errors.c, PyErr_GivenExceptionMatches.
bool matches(Translator& t, const ExceptionVariable& exception, const VarRef& of) {
  if (const auto* types = of->items())
    return std::any_of(types->begin(), types->end(),
                       [&](const VarRef& type) { return matches(t, exception, type); });
  if (!of->object() || !PyExceptionClass_Check(of->object().get()))
    break_graph(BreakReason::kExceptions, "except with a " + of->type_name());
  t.guard_identity(*of);
  return PyType_IsSubtype(exception.raw_type(),
                          reinterpret_cast<PyTypeObject*>(of->object().get())) != 0;
}

void check_match(Translator& t, const Instruction&) {
  const VarRef types = t.pop();
  const bool is_match = matches(t, *own_exception(t.at_depth(1)), types);
  t.push(boolean(is_match));
}

void raise_again(Translator& t, const Instruction&) { throw Raised{own_exception(t.pop())}; }

// An exception, or a class of one that is called.
ExceptionRef as_exception(Translator& t, const VarRef& value) {
  const bool is_class = value->object() && PyExceptionClass_Check(value->object().get());
  return own_exception(is_class ? protocol::call(t, value, {}) : value);
}

// CPython: Python/ceval.c, do_raise.
void raise_new(Translator& t, const Instruction& i) {
  if (i.arg == 0) throw Raised{own_exception(t.handled())};
  const VarRef cause = i.arg == 2 ? t.pop() : nullptr;
  const ExceptionRef exception = as_exception(t, t.pop());
  if (cause) {
    const bool is_none = cause->object() && cause->object().get() == Py_None;
    exception->cause = is_none ? nullptr : as_exception(t, cause);
    exception->hides_context = true;
  }
  set_context(exception, t.handled());
  throw Raised{exception};
}

// CPython: Python/bytecodes.c, WITH_EXCEPT_START: __exit__(type, exception, traceback).
void leave_with_exception(Translator& t, const Instruction&) {
  const ExceptionRef exception = own_exception(t.at_depth(1));
  const VarRef exit = t.at_depth(4);
  t.push(protocol::call(
      t, exit,
      {{exception->type(), exception, attribute_of_exception(t, exception, "__traceback__")}, {}}));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::PUSH_EXC_INFO, begin_handler}, {Opcode::POP_EXCEPT, end_handler},
    {Opcode::CHECK_EXC_MATCH, check_match}, {Opcode::RERAISE, raise_again},
    {Opcode::RAISE_VARARGS, raise_new},     {Opcode::WITH_EXCEPT_START, leave_with_exception},
};

}  // namespace

const std::span<const OpcodeRow> kExceptionOps = kRows;

}  // namespace torchdyn
