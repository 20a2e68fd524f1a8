// An evaluator that runs other code for functions that are marked.
#include <string>
#include <vector>

#include "tests/torchdyn/cpython/functions.h"
#include "torchdyn/cpython/code_cache.h"
#include "torchdyn/cpython/eval_hook.h"

namespace torchdyn::testing {
namespace {

int marks_alive = 0;

// What stands for a marked code object: code to run, or something to call that gives it.
struct Mark : CodeRecord {
  explicit Mark(PyBorrow object) : stand_in(PyRef::to(object)) { ++marks_alive; }
  ~Mark() override { --marks_alive; }

  PyRef stand_in;
};

class Marked : public Evaluator {
 public:
  Replacement replacement(const Gil& gil, const FrameView& frame) override {
    ++looked_at;
    auto* const mark = static_cast<Mark*>(code_record(gil, frame.code()));
    if (!mark) return {};
    ++replaced;
    if (CodeView::is_code(mark->stand_in)) return {PyRef::to(mark->stand_in)};
    return {owned(PyObject_CallOneArg(mark->stand_in.get(), slots(frame).get()))};
  }

  void left_alone(const FrameView& frame, std::string_view reason) noexcept override {
    reasons.emplace_back(std::string(frame.code().name()), std::string(reason));
  }

  int looked_at = 0, replaced = 0;
  std::vector<std::pair<std::string, std::string>> reasons;

 private:
  // {name: value} of what is bound when the frame begins.
  static PyRef slots(const FrameView& frame) {
    PyRef values = owned(PyDict_New());
    for (int slot = 0; slot < frame.code().slots(); ++slot)
      if (const PyBorrow value = frame.local(slot))
        PyDict_SetItemString(values.get(), std::string(frame.code().slot_name(slot)).c_str(),
                             value.get());
    return values;
  }
};

Marked& marked() {
  static Marked evaluator;
  return evaluator;
}

// mark(code, stand_in): a code object, or a function of the frame's slots that gives one or raises.
PyRef mark(const Gil& gil, PyObject* args) {
  PyObject *code = nullptr, *stand_in = nullptr;
  read_arguments(args, "O!O", &PyCode_Type, &code, &stand_in);
  set_code_record(gil, CodeView::of(PyBorrow(code)), std::make_unique<Mark>(PyBorrow(stand_in)));
  return none();
}

PyRef call(PyObject* args) {
  const PyRef rest = owned(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  return owned(PyObject_CallObject(PyTuple_GET_ITEM(args, 0), rest.get()));
}

// within(function, *args): function(*args), with marked frames replaced.
PyRef within(const Gil& gil, PyObject* args) {
  if (const Verdict may = EvalScope::possible(gil); !may) throw std::runtime_error(may.reason());
  const EvalScope scope(gil, &marked());
  return call(args);
}

// outside(function, *args): the same within within(), with frames as they are.
PyRef outside(const Gil& gil, PyObject* args) {
  const EvalScope scope(gil, nullptr);
  return call(args);
}

// (frames looked at, frames replaced, [(name, why it was left alone)]) since the last call.
PyRef seen(const Gil&, PyObject*) {
  Marked& m = marked();
  PyRef reasons = owned(PyList_New(0));
  for (const auto& [name, reason] : std::exchange(m.reasons, {}))
    PyList_Append(reasons.get(), owned(Py_BuildValue("ss", name.c_str(), reason.c_str())).get());
  return owned(Py_BuildValue("iiO", std::exchange(m.looked_at, 0), std::exchange(m.replaced, 0),
                             reasons.get()));
}

PyRef count_marks(const Gil&, PyObject*) { return owned(PyLong_FromLong(marks_alive)); }

PyRef is_installed(const Gil& gil, PyObject*) {
  return owned(PyBool_FromLong(is_hook_installed(gil)));
}

}  // namespace

PyMethodDef kHookFunctions[] = {{"mark", entry<mark>, METH_VARARGS, nullptr},
                                {"within", entry<within>, METH_VARARGS, nullptr},
                                {"outside", entry<outside>, METH_VARARGS, nullptr},
                                {"seen", entry<seen>, METH_VARARGS, nullptr},
                                {"count_marks", entry<count_marks>, METH_VARARGS, nullptr},
                                {"is_installed", entry<is_installed>, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace torchdyn::testing
