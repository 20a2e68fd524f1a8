#include "torchdyn/variables/exception.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

PyTypeObject* base_exception() { return reinterpret_cast<PyTypeObject*>(PyExc_BaseException); }

const ExceptionVariable& exception_of(const VarRef& self) {
  return static_cast<const ExceptionVariable&>(*self);
}

VarRef type_at(PyBorrow type) {
  return std::make_shared<ObjectVariable>(
      PyRef::to(type), Source::fixed(type, reinterpret_cast<PyTypeObject*>(type.get())->tp_name));
}

// Of frames that capture has only followed.
class TracebackVariable : public Variable {
 public:
  const Slots& slots() const override {
    static constexpr Slots kSlots{};
    return kSlots;
  }
  std::string type_name() const override { return "traceback"; }
};

// exception.with_traceback, before it is called.
class WithTracebackVariable : public Variable {
 public:
  explicit WithTracebackVariable(VarRef exception) : exception_(std::move(exception)) {}

  const Slots& slots() const override {
    static constexpr Slots kSlots{.call = [](Translator&, const VarRef& self, const CallArgs&) {
      return static_cast<const WithTracebackVariable&>(*self).exception_;
    }};
    return kSlots;
  }
  std::string type_name() const override { return "with_traceback"; }

 private:
  VarRef exception_;
};

}  // namespace

std::vector<VarRef> ExceptionVariable::parts() const {
  std::vector<VarRef> all = InstanceVariable::parts();
  all.insert(all.end(), args_.begin(), args_.end());
  return all;
}

// BaseException.__new__(type, *args); its own members come as those of any object.
void ExceptionVariable::rebuild(CodeWriter& w) const {
  if (was_raised || cause || context)
    break_graph(BreakReason::kRebuild, str_cat("an exception that was raised: ", type_name()));
  w.begin_call(owned(PyObject_GetAttrString(PyExc_BaseException, "__new__")));
  w.value(type());
  for (const VarRef& arg : args_) w.value(arg);
  w.end_call(static_cast<uint32_t>(args_.size()) + 1);
}

std::string ExceptionVariable::message() const {
  const auto has_text_of = [&](PyObject* type) {
    return raw_type()->tp_str == reinterpret_cast<PyTypeObject*>(type)->tp_str;
  };
  const VarRef all = std::make_shared<SequenceVariable>(/*is_list=*/false, args_);
  const PyRef args = protocol::as_constant(all);
  if (!args || (!has_text_of(PyExc_BaseException) && !has_text_of(PyExc_KeyError)))
    break_graph(BreakReason::kFormat, type_name());
  PyObject* const like = has_text_of(PyExc_KeyError) ? PyExc_KeyError : PyExc_Exception;
  return text_of(owned(PyObject_CallObject(like, args.get())));
}

std::string ExceptionVariable::description() const {
  const VarRef all = std::make_shared<SequenceVariable>(/*is_list=*/false, args_);
  if (!protocol::as_constant(all)) return type_name();
  return str_cat(type_name(), ": ", message());
}

// CPython: Python/errors.c, _PyErr_SetObject: no exception is in the chain of its own context.
void set_context(const std::shared_ptr<const ExceptionVariable>& exception, const VarRef& handled) {
  if (!handled || handled == exception) return;
  for (VarRef link = handled; link; link = exception_of(link).context)
    if (exception_of(link).context == exception) exception_of(link).context = nullptr;
  exception->context = handled;
}

void raise(Translator& t, PyBorrow type, std::vector<VarRef> args) {
  auto exception = std::make_shared<ExceptionVariable>(type_at(type), std::move(args));
  set_context(exception, t.handled());
  throw Raised{std::move(exception)};
}

void raise(Translator& t, PyBorrow type, std::string_view message) {
  raise(t, type, std::vector<VarRef>{std::make_shared<ConstantVariable>(torchdyn::name(message))});
}

void raise_python_error(Translator& t) {
  if (stops_the_program()) throw PythonError();
  const PyRef error = take_exception(t.gil());
  const PyRef args = attribute(t.gil(), error, "args");
  std::vector<VarRef> values;
  for (const PyBorrow arg : items_of(args)) {
    if (!is_plain_constant(arg)) break_graph(BreakReason::kRaises, Py_TYPE(error.get())->tp_name);
    values.push_back(std::make_shared<ConstantVariable>(PyRef::to(arg)));
  }
  raise(t, PyBorrow(reinterpret_cast<PyObject*>(Py_TYPE(error.get()))), std::move(values));
}

bool is_a(const Raised& raised, PyBorrow type) {
  return PyType_IsSubtype(raised.exception->raw_type(),
                          reinterpret_cast<PyTypeObject*>(type.get())) != 0;
}

VarRef attribute_of_exception(Translator&, const VarRef& self, const std::string& name) {
  const ExceptionVariable& exception = exception_of(self);
  if (name == "args") return std::make_shared<SequenceVariable>(false, exception.args());
  if (name == "__cause__") return exception.cause ? exception.cause : none();
  if (name == "__suppress_context__") return boolean(exception.hides_context);
  if (name == "__context__" && exception.context) return exception.context;
  if (name == "__traceback__" && exception.was_raised) return std::make_shared<TracebackVariable>();
  if (name == "with_traceback") return std::make_shared<WithTracebackVariable>(self);
  if (name == "value" &&
      PyType_IsSubtype(exception.raw_type(), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
    return exception.args().empty() ? none() : exception.args()[0];
  return nullptr;
}

bool makes_exceptions(PyTypeObject* type) {
  return PyType_IsSubtype(type, base_exception()) != 0 && type->tp_new == base_exception()->tp_new;
}

}  // namespace torchdyn
