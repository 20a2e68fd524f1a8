// What differs between versions of CPython, as C functions: abi_3_NN.c defines all of them for one
// version, and is compiled for that one alone. C++ looks through abi.h.
//
// Callers hold the GIL. Objects are borrowed unless a comment says otherwise.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct _PyInterpreterFrame TdFrame;

int td_version_minor(void);

PyCodeObject* td_frame_code(const TdFrame* frame);
PyFunctionObject* td_frame_function(
    const TdFrame* frame);  // null: a class body or a module has none
PyObject* td_frame_globals(const TdFrame* frame);
PyObject* td_frame_builtins(const TdFrame* frame);
// Locals, cells and free variables; null where a slot is unbound.
PyObject* const* td_frame_slots(const TdFrame* frame);
// Code units before the instruction that runs next.
int td_frame_next_unit(const TdFrame* frame);
// Whether the frame lies on its thread's stack, not in a generator or in a frame object.
int td_frame_is_on_stack(const TdFrame* frame);
// Whether somebody holds a frame object of it, which has room for this code's slots alone.
int td_frame_has_object(const TdFrame* frame);
// Words of the stack that a frame of this code takes.
Py_ssize_t td_frame_words(const PyCodeObject* code);
// Makes a frame that has not begun one of `code`: slots from `bound` on are unbound, the next
// instruction is the first. Takes a reference to `code`, gives up the frame's to the code before.
void td_frame_become(TdFrame* frame, PyCodeObject* code, int bound);
// Gives an unbound slot a value, whose reference it takes.
void td_frame_bind(TdFrame* frame, int slot, PyObject* value);

// Whether sys.settrace or sys.setprofile watches this thread.
int td_thread_is_traced(const PyThreadState* thread);
// Whether a tool of sys.monitoring watches this code, or all code.
int td_code_is_monitored(const PyThreadState* thread, const PyCodeObject* code);

// A number that changes with whatever the type's attributes are, and is no other type's; 0: none
// now.
unsigned td_type_version(const PyTypeObject* type);

// A number that changes with whatever a dict holds, and is no other dict's; 0: this version of
// CPython keeps none.
uint64_t td_dict_version(const PyObject* dict);

// What becomes of a dict: a key's value, which keys it has, all of it, the dict itself.
typedef enum { TD_VALUE_CHANGES, TD_KEY_CHANGES, TD_DICT_CHANGES, TD_DICT_GOES } TdDictChange;
// Is called before a watched dict changes; `key` is null where all of it does.
typedef void (*TdDictCallback)(TdDictChange change, PyObject* dict, PyObject* key);
// -1: this version of CPython tells nobody, or too many ask already. Once a process.
int td_dict_add_watcher(TdDictCallback callback);
int td_dict_watch(int watcher, PyObject* dict);  // -1: it is not watched
void td_dict_unwatch(int watcher, PyObject* dict);

// Where an object keeps the pointer to its dict, which is null or no dict's as long as there is
// none; null: elsewhere, or it has none.
PyObject** td_dict_place(PyObject* object);

typedef struct {
  int arguments, positional_only, keyword_only, stack_size, flags, first_line;
  PyObject *code, *constants, *names, *locals, *free, *cells;
  PyObject *file_name, *name, *qualified_name, *line_table, *exception_table;
} TdCodeParts;

PyCodeObject* td_code_new(const TdCodeParts* parts);  // a new reference; null: an exception is set

// The slot that code objects have for whoever asks for one; -1 where none is left. `free` also gets
// null where a code object never had a value.
Py_ssize_t td_code_request_slot(void (*free)(void*));
void* td_code_slot(PyCodeObject* code, Py_ssize_t slot);
// Frees the value before. -1: an exception is set, and nothing has changed.
int td_code_set_slot(PyCodeObject* code, Py_ssize_t slot, void* value);

#ifdef __cplusplus
}
#endif
