#include "torchdyn/cpython/code_object.h"

namespace torchdyn {
namespace {

std::string text_of_bytes(PyBorrow bytes) {
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

PyRef to_bytes(const std::string& text) {
  return owned(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

}  // namespace

CodeBytes bytes_of(const Gil&, CodeView view) {
  PyCodeObject* const code = view.get();
  return {.version = running_version(),
          .code = text_of_bytes(owned(PyCode_GetCode(code))),
          .exception_table = text_of_bytes(PyBorrow(code->co_exceptiontable)),
          .line_table = text_of_bytes(PyBorrow(code->co_linetable)),
          .first_line = code->co_firstlineno};
}

CodeParts take_apart(const Gil& gil, CodeView view) {
  PyCodeObject* const code = view.get();
  return {.bytes = bytes_of(gil, view),
          .stack_size = code->co_stacksize,
          .arguments = code->co_argcount,
          .positional_only = code->co_posonlyargcount,
          .keyword_only = code->co_kwonlyargcount,
          .flags = code->co_flags,
          .constants = PyRef::to(view.constants()),
          .names = PyRef::to(view.names()),
          .locals = owned(PyCode_GetVarnames(code)),
          .cells = owned(PyCode_GetCellvars(code)),
          .free = owned(PyCode_GetFreevars(code)),
          .file_name = PyRef::to(PyBorrow(code->co_filename)),
          .name = PyRef::to(PyBorrow(code->co_name)),
          .qualified_name = PyRef::to(PyBorrow(code->co_qualname))};
}

PyRef make_code(const Gil&, const CodeParts& parts) {
  const PyRef code = to_bytes(parts.bytes.code);
  const PyRef line_table = to_bytes(parts.bytes.line_table);
  const PyRef exception_table = to_bytes(parts.bytes.exception_table);
  const TdCodeParts raw{.arguments = parts.arguments,
                        .positional_only = parts.positional_only,
                        .keyword_only = parts.keyword_only,
                        .stack_size = parts.stack_size,
                        .flags = parts.flags,
                        .first_line = parts.bytes.first_line,
                        .code = code.get(),
                        .constants = parts.constants.get(),
                        .names = parts.names.get(),
                        .locals = parts.locals.get(),
                        .free = parts.free.get(),
                        .cells = parts.cells.get(),
                        .file_name = parts.file_name.get(),
                        .name = parts.name.get(),
                        .qualified_name = parts.qualified_name.get(),
                        .line_table = line_table.get(),
                        .exception_table = exception_table.get()};
  return owned(reinterpret_cast<PyObject*>(td_code_new(&raw)));
}

}  // namespace torchdyn
