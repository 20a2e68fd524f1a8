// CPython 3.11: Include/internal/pycore_frame.h.
#include "torchdyn/cpython/abi_c.h"

#if PY_VERSION_HEX >> 16 != 0x030B
#error "abi_3_11.c is compiled with the headers of CPython 3.11"
#endif

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>

int td_version_minor(void) { return 11; }

PyCodeObject* td_frame_code(const TdFrame* frame) { return frame->f_code; }

PyFunctionObject* td_frame_function(const TdFrame* frame) { return frame->f_func; }

PyObject* td_frame_globals(const TdFrame* frame) { return frame->f_globals; }

PyObject* td_frame_builtins(const TdFrame* frame) { return frame->f_builtins; }

PyObject* const* td_frame_slots(const TdFrame* frame) { return frame->localsplus; }

int td_frame_next_unit(const TdFrame* frame) { return _PyInterpreterFrame_LASTI(frame) + 1; }

int td_frame_is_on_stack(const TdFrame* frame) { return frame->owner == FRAME_OWNED_BY_THREAD; }

int td_frame_has_object(const TdFrame* frame) { return frame->frame_obj != NULL; }

Py_ssize_t td_frame_words(const PyCodeObject* code) {
  return code->co_nlocalsplus + code->co_stacksize + (Py_ssize_t)FRAME_SPECIALS_SIZE;
}

void td_frame_become(TdFrame* frame, PyCodeObject* code, int bound) {
  PyCodeObject* before = frame->f_code;
  Py_INCREF(code);
  frame->f_code = code;
  frame->prev_instr = _PyCode_CODE(code) - 1;
  for (int i = bound; i < code->co_nlocalsplus; ++i) frame->localsplus[i] = NULL;
  frame->stacktop = code->co_nlocalsplus;
  Py_DECREF(before);
}

void td_frame_bind(TdFrame* frame, int slot, PyObject* value) { frame->localsplus[slot] = value; }

int td_thread_is_traced(const PyThreadState* thread) {
  return thread->c_tracefunc != NULL || thread->c_profilefunc != NULL;
}

int td_code_is_monitored(const PyThreadState* thread, const PyCodeObject* code) {
  (void)thread, (void)code;  // sys.monitoring came with 3.12
  return 0;
}

unsigned td_type_version(const PyTypeObject* type) {
  return PyType_HasFeature((PyTypeObject*)type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag
                                                                              : 0;
}

uint64_t td_dict_version(const PyObject* dict) {
  return ((const PyDictObject*)dict)->ma_version_tag;
}

int td_dict_add_watcher(TdDictCallback callback) {
  (void)callback;  // watchers came with 3.12
  return -1;
}

int td_dict_watch(int watcher, PyObject* dict) {
  (void)watcher, (void)dict;
  return -1;
}

void td_dict_unwatch(int watcher, PyObject* dict) { (void)watcher, (void)dict; }

PyObject** td_dict_place(PyObject* object) {
  (void)object;  // nobody watches it
  return NULL;
}

PyCodeObject* td_code_new(const TdCodeParts* p) {
  return PyCode_NewWithPosOnlyArgs(
      p->arguments, p->positional_only, p->keyword_only, (int)PyTuple_GET_SIZE(p->locals),
      p->stack_size, p->flags, p->code, p->constants, p->names, p->locals, p->free, p->cells,
      p->file_name, p->name, p->qualified_name, p->first_line, p->line_table, p->exception_table);
}

Py_ssize_t td_code_request_slot(void (*free)(void*)) { return _PyEval_RequestCodeExtraIndex(free); }

void* td_code_slot(PyCodeObject* code, Py_ssize_t slot) {
  void* value = NULL;
  _PyCode_GetExtra((PyObject*)code, slot, &value);
  return value;
}

int td_code_set_slot(PyCodeObject* code, Py_ssize_t slot, void* value) {
  return _PyCode_SetExtra((PyObject*)code, slot, value);
}
