#include "torchdyn/cpython/abi.h"

namespace torchdyn {
namespace {

std::string_view text_of(PyObject* unicode) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(unicode, &size);
  if (text) return {text, static_cast<size_t>(size)};
  PyErr_Clear();  // a surrogate, which no compiler of CPython lets into a name
  return "?";
}

bool has_like_arguments(CodeView a, CodeView b) {
  constexpr int kSignature = CO_VARARGS | CO_VARKEYWORDS | CO_OPTIMIZED | CO_NEWLOCALS;
  return a.arguments() == b.arguments() && (a.flags() & kSignature) == (b.flags() & kSignature);
}

}  // namespace

PythonVersion running_version() {
  return static_cast<PythonVersion>(td_version_minor() - 11);  // the enum counts from 3.11
}

CodeView CodeView::of(PyBorrow object) {
  TD_CHECK(is_code(object), "a code object is expected");
  return CodeView(reinterpret_cast<PyCodeObject*>(object.get()));
}

std::string_view CodeView::name() const { return text_of(code_->co_qualname); }

int CodeView::arguments() const {
  return code_->co_argcount + code_->co_kwonlyargcount + ((flags() & CO_VARARGS) != 0) +
         ((flags() & CO_VARKEYWORDS) != 0);
}

std::string_view CodeView::slot_name(int slot) const {
  return text_of(PyTuple_GET_ITEM(code_->co_localsplusnames, slot));
}

bool CodeView::is_generator() const {
  return (flags() & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

bool CodeView::is_function() const {
  return (flags() & (CO_OPTIMIZED | CO_NEWLOCALS)) == (CO_OPTIMIZED | CO_NEWLOCALS);
}

PyBorrow FrameView::function() const {
  return PyBorrow(reinterpret_cast<PyObject*>(td_frame_function(frame_)));
}

PyBorrow FrameView::local(int slot) const {
  if (PyObject* const value = td_frame_slots(frame_)[slot]) return PyBorrow(value);
  const int free = slot - (code().slots() - code().free_slots());
  const PyFunctionObject* const function = td_frame_function(frame_);
  if (next_unit() != 0 || free < 0 || !function || !function->func_closure) return PyBorrow();
  return PyBorrow(PyTuple_GET_ITEM(function->func_closure, free));
}

Verdict FrameView::is_unwatched() const {
  if (td_thread_is_traced(thread_)) return Verdict::no("sys.settrace or sys.setprofile is active");
  if (td_code_is_monitored(thread_, code().get()))
    return Verdict::no("a tool of sys.monitoring is active");
  return Verdict::yes();
}

Verdict FrameView::may_become_other() const {
  if (code().is_generator()) return Verdict::no("a generator's or coroutine's frame");
  if (!code().is_function()) return Verdict::no("a module's or class body's frame");
  if (next_unit() != 0) return Verdict::no("the frame has begun");
  if (!td_frame_is_on_stack(frame_)) return Verdict::no("the frame is not on the thread's stack");
  if (td_frame_has_object(frame_)) return Verdict::no("the frame has been looked at");
  return Verdict::yes();
}

// A frame that has not begun holds its arguments and nothing else, and lies on top of its thread's
// stack: other code needs another extent and no copy.
Verdict FrameView::become(const Gil&, CodeView other, PyRef given, int given_slot) const {
  if (Verdict may = may_become_other(); !may) return may;
  if (!has_like_arguments(code(), other)) return Verdict::no("the other code's arguments differ");
  if (code().free_slots() != other.free_slots())
    return Verdict::no("the other code's free variables differ");
  if (other.is_generator()) return Verdict::no("the other code is a generator's");
  PyObject** const base = reinterpret_cast<PyObject**>(frame_);
  if (base + td_frame_words(code().get()) != thread_->datastack_top)
    return Verdict::no("the frame is not on top of the stack");
  PyObject** const top = base + td_frame_words(other.get());
  if (top >= thread_->datastack_limit)
    return Verdict::no("this piece of the stack has no room for the other code's frame");
  thread_->datastack_top = top;
  td_frame_become(frame_, other.get(), code().arguments());
  if (given) td_frame_bind(frame_, given_slot, given.release());
  return Verdict::yes();
}

}  // namespace torchdyn
