#include "torchdyn/builtins/builtins.h"
#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

std::string_view name_of(PyBorrow object) {
  const std::string_view name =
      PyType_Check(object.get()) ? reinterpret_cast<PyTypeObject*>(object.get())->tp_name
      : PyCFunction_Check(object.get())
          ? reinterpret_cast<PyCFunctionObject*>(object.get())->m_ml->ml_name
      : PyFunction_Check(object.get())
          ? utf8(PyBorrow(reinterpret_cast<PyFunctionObject*>(object.get())->func_name))
          : "";
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

BuiltinHandler builtin_handler(const Gil& gil, PyBorrow object) {
  const std::string_view name = name_of(object);
  if (name.empty()) return nullptr;
  for (const auto& rows :
       {kIterationBuiltins, kObjectBuiltins, kConstantBuiltins, kLibraryBuiltins})
    for (const BuiltinRow& row : rows)
      if (row.name == name && PyBorrow(import_attribute(gil, row.module, row.name)) == object)
        return row.handler;
  return nullptr;
}

}  // namespace torchdyn
