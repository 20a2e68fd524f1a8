// Imports of modules that are there already.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

VarRef module_named(Translator& t, const std::string& name) {
  const SourceRef source = Source::module(name);
  const PyBorrow module = source->read(t.frame());
  if (!module || !PyModule_CheckExact(module.get())) break_graph(BreakReason::kImport, name);
  VarRef made = std::make_shared<ObjectVariable>(PyRef::to(module), source);
  t.guard_identity(*made);
  return made;
}

// CPython: Python/import.c, resolve_name: the package that a module is in, `level` dots up.
std::string package_of(Translator& t, long level) {
  const PyBorrow name = dict_item(t.globals(), torchdyn::name("__package__"));
  if (!name || !PyUnicode_CheckExact(name.get())) break_graph(BreakReason::kImport, "relative");
  std::string package(utf8(name));
  for (; level > 1; --level) {
    const size_t dot = package.rfind('.');
    if (dot == std::string::npos) break_graph(BreakReason::kImport, "relative");
    package.resize(dot);
  }
  return package;
}

// CPython: Python/import.c, PyImport_ImportModuleLevelObject.
void import_name(Translator& t, const Instruction& i) {
  const VarRef from = t.pop();
  const long level = PyLong_AsLong(t.pop()->object().get());
  std::string name = t.name_of(i);
  if (level > 0) {
    const std::string package = package_of(t, level);
    name = name.empty() ? package : str_cat(package, ".", name);
  }
  (void)module_named(t, name);  // all of it must be there
  const bool is_whole = protocol::truth(t, from) || level > 0;
  t.push(module_named(t, is_whole ? name : name.substr(0, name.find('.'))));
}

void import_from(Translator& t, const Instruction& i) {
  const VarRef module = t.at_depth(1);
  t.push(protocol::get_attribute(t, module, t.name_of(i)));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::IMPORT_NAME, import_name},
    {Opcode::IMPORT_FROM, import_from},
};

}  // namespace

const std::span<const OpcodeRow> kImportOps = kRows;

}  // namespace torchdyn
