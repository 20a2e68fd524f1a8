// CPython 3.12: Include/internal/pycore_frame.h.
#include "torchdyn/cpython/abi_c.h"
#include "torchdyn/cpython/abi_dict_events.h"

#if PY_VERSION_HEX >> 16 != 0x030C
#error "abi_3_12.c is compiled with the headers of CPython 3.12"
#endif

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED  // both kinds of headers define it
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>

int td_version_minor(void) { return 12; }

PyCodeObject* td_frame_code(const TdFrame* frame) { return frame->f_code; }

PyFunctionObject* td_frame_function(const TdFrame* frame) {
  PyObject* function = frame->f_funcobj;
  return function && PyFunction_Check(function) ? (PyFunctionObject*)function : NULL;
}

PyObject* td_frame_globals(const TdFrame* frame) { return frame->f_globals; }

PyObject* td_frame_builtins(const TdFrame* frame) { return frame->f_builtins; }

PyObject* const* td_frame_slots(const TdFrame* frame) { return frame->localsplus; }

int td_frame_next_unit(const TdFrame* frame) { return _PyInterpreterFrame_LASTI(frame) + 1; }

int td_frame_is_on_stack(const TdFrame* frame) { return frame->owner == FRAME_OWNED_BY_THREAD; }

int td_frame_has_object(const TdFrame* frame) { return frame->frame_obj != NULL; }

Py_ssize_t td_frame_words(const PyCodeObject* code) { return code->co_framesize; }

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

// sys.settrace and sys.setprofile of any thread are tools of all, and td_thread_is_traced's
// concern.
static int has_tool(const uint8_t* tools, int events) {
  const unsigned tracers = 1u << PY_MONITORING_SYS_PROFILE_ID | 1u << PY_MONITORING_SYS_TRACE_ID;
  for (int i = 0; i < events; ++i)
    if ((tools[i] & ~tracers) != 0) return 1;
  return 0;
}

int td_code_is_monitored(const PyThreadState* thread, const PyCodeObject* code) {
  if (has_tool(thread->interp->monitors.tools, _PY_MONITORING_UNGROUPED_EVENTS)) return 1;
  const _PyCoMonitoringData* own = code->_co_monitoring;
  return own && has_tool(own->local_monitors.tools, _PY_MONITORING_LOCAL_EVENTS);
}

unsigned td_type_version(const PyTypeObject* type) {
  return PyType_HasFeature((PyTypeObject*)type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag
                                                                              : 0;
}

// Deprecated without a successor that need not be called on each change.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t td_dict_version(const PyObject* dict) {
  const uint64_t watchers = 0xFF;  // in the lowest bits, who watches
  return ((const PyDictObject*)dict)->ma_version_tag & ~watchers;
}
#pragma GCC diagnostic pop

int td_dict_watch(int watcher, PyObject* dict) {
  if (watcher < 0 || PyDict_Watch(watcher, dict) == 0) return watcher < 0 ? -1 : 0;
  PyErr_Clear();
  return -1;
}

// While CPython ends, dicts go unseen: `dict` may be none any more.
void td_dict_unwatch(int watcher, PyObject* dict) {
  if (_Py_IsFinalizing() || PyDict_Unwatch(watcher, dict) == 0) return;
  PyErr_Clear();
}

// Include/internal/pycore_object.h: a managed dict is three words before its object.
PyObject** td_dict_place(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) return (PyObject**)object - 3;
  return type->tp_dictoffset > 0 ? (PyObject**)((char*)object + type->tp_dictoffset) : NULL;
}

PyCodeObject* td_code_new(const TdCodeParts* p) {
  return PyUnstable_Code_NewWithPosOnlyArgs(
      p->arguments, p->positional_only, p->keyword_only, (int)PyTuple_GET_SIZE(p->locals),
      p->stack_size, p->flags, p->code, p->constants, p->names, p->locals, p->free, p->cells,
      p->file_name, p->name, p->qualified_name, p->first_line, p->line_table, p->exception_table);
}

Py_ssize_t td_code_request_slot(void (*free)(void*)) {
  return PyUnstable_Eval_RequestCodeExtraIndex(free);
}

void* td_code_slot(PyCodeObject* code, Py_ssize_t slot) {
  void* value = NULL;
  PyUnstable_Code_GetExtra((PyObject*)code, slot, &value);
  return value;
}

int td_code_set_slot(PyCodeObject* code, Py_ssize_t slot, void* value) {
  return PyUnstable_Code_SetExtra((PyObject*)code, slot, value);
}
