// Somebody else's hook, which counts frames of functions named `counted` and passes all on, as
// torch.compile and debuggers do.
#include "tests/torchdyn/cpython/functions.h"
#include "torchdyn/cpython/abi.h"

namespace torchdyn::testing {
namespace {

_PyFrameEvalFunction before = nullptr;
long frames = 0;

PyInterpreterState* interpreter() { return PyInterpreterState_Main(); }

PyObject* count(PyThreadState* thread, struct _PyInterpreterFrame* frame, int throwing) {
  frames += CodeView(td_frame_code(frame)).name().ends_with("counted");
  return before(thread, frame, throwing);
}

PyRef install_other(const Gil&, PyObject*) {
  const _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(interpreter());
  TD_CHECK(there != count, "installed twice");
  before = there;
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), count);
  return none();
}

// Puts back what was there when it came, whoever came since.
PyRef remove_other(const Gil&, PyObject*) {
  _PyInterpreterState_SetEvalFrameFunc(interpreter(), before);
  return none();
}

PyRef other_frames(const Gil&, PyObject*) {
  return owned(PyLong_FromLong(std::exchange(frames, 0)));
}

PyRef is_other_on_top(const Gil&, PyObject*) {
  return owned(PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(interpreter()) == count));
}

}  // namespace

PyMethodDef kOtherHookFunctions[] = {
    {"install_other", entry<install_other>, METH_VARARGS, nullptr},
    {"remove_other", entry<remove_other>, METH_VARARGS, nullptr},
    {"other_frames", entry<other_frames>, METH_VARARGS, nullptr},
    {"is_other_on_top", entry<is_other_on_top>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace torchdyn::testing
