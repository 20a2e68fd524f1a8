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

std::string_view last_name(const BuiltinRow& row) {
  const std::string_view name = row.name;
  return name.substr(name.rfind('.') + 1);
}

// Null: its module has not been imported, so that nobody has it.
PyRef object_of(const Gil& gil, const BuiltinRow& row) {
  const PyRef module = PyRef::steal(PyImport_GetModule(torchdyn::name(row.module).get()));
  if (!module) return PyRef();
  const std::string_view name = row.name;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return attribute(gil, module, row.name);
  const PyRef owner = attribute(gil, module, std::string(name.substr(0, dot)).c_str());
  PyRef found = attribute(gil, owner, row.name + dot + 1);
  return PyMethod_Check(found.get()) ? PyRef::to(PyBorrow(PyMethod_GET_FUNCTION(found.get())))
                                     : std::move(found);
}

}  // namespace

BuiltinHandler builtin_handler(const Gil& gil, PyBorrow object) {
  const std::string_view name = name_of(object);
  if (name.empty()) return nullptr;
  for (const auto& rows :
       {kIterationBuiltins, kObjectBuiltins, kConstantBuiltins, kLibraryBuiltins, kModeBuiltins,
        kSignatureBuiltins, kCopyBuiltins, kHigherOrderBuiltins, kTorchBuiltins})
    for (const BuiltinRow& row : rows)
      if (last_name(row) == name && PyBorrow(object_of(gil, row)) == object) return row.handler;
  return nullptr;
}

}  // namespace torchdyn
