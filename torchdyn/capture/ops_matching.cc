// match statements, of values whose types are known.
#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/builtins/builtins.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// CPython: Include/object.h, Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING.
void match_sequence(Translator& t, const Instruction&) {
  const VarRef value = t.at_depth(1);
  if (!value->items() && dynamic_cast<const ObjectVariable*>(value.get()))
    break_graph(BreakReason::kMatch, value->type_name());
  t.push(boolean(value->items() != nullptr));
}

void match_mapping(Translator& t, const Instruction&) {
  const VarRef value = t.at_depth(1);
  if (dynamic_cast<const ObjectVariable*>(value.get()))
    break_graph(BreakReason::kMatch, value->type_name());
  t.push(boolean(dynamic_cast<const DictVariable*>(value.get()) != nullptr));
}

// CPython: Python/ceval.c, match_keys: their values, or None.
void match_keys(Translator& t, const Instruction&) {
  const VarRef keys = t.at_depth(1), subject = t.at_depth(2);
  const auto* const dict = dynamic_cast<const DictVariable*>(subject.get());
  if (!dict) break_graph(BreakReason::kMatch, subject->type_name());
  std::vector<VarRef> values;
  for (const VarRef& key : protocol::all_items(t, keys)) {
    values.push_back(dict->find(key));
    if (!values.back()) return t.push(none());
  }
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(values)));
}

bool is_instance(Translator& t, const VarRef& subject, const VarRef& type) {
  const PyRef function = import_attribute(t.gil(), "builtins", "isinstance");
  return protocol::truth(t, builtin_handler(t.gil(), function)(t, function, {{subject, type}, {}}));
}

// The names of a class's positional patterns; empty: the subject itself is the only one.
std::vector<std::string> positional_names(const VarRef& type, size_t count) {
  constexpr unsigned long kMatchSelf = 1UL << 22;  // _Py_TPFLAGS_MATCH_SELF
  auto* const raw = reinterpret_cast<PyTypeObject*>(type->object().get());
  const PyBorrow names = type_attribute(raw, torchdyn::name("__match_args__"));
  const bool is_known = names && PyTuple_CheckExact(names.get());
  if (!is_known && PyType_HasFeature(raw, kMatchSelf) && count == 1) return {};
  if (!is_known || static_cast<size_t>(PyTuple_GET_SIZE(names.get())) < count)
    break_graph(BreakReason::kMatch, raw->tp_name);
  std::vector<std::string> known;
  for (const PyBorrow name : items_of(names))
    if (known.size() < count) known.emplace_back(utf8(name));
  return known;
}

// CPython: Python/ceval.c, match_class: what the patterns are about, or None.
VarRef attributes_matched(Translator& t, const VarRef& subject, const VarRef& type,
                          const std::vector<VarRef>& named, size_t count) {
  if (!type->object() || !PyType_Check(type->object().get()))
    break_graph(BreakReason::kMatch, type->type_name());
  if (!is_instance(t, subject, type)) return none();
  std::vector<std::string> names;
  if (count > 0) names = positional_names(type, count);
  std::vector<VarRef> values;
  if (names.size() < count) values.push_back(subject);
  for (const VarRef& name : named) names.emplace_back(utf8(name->object()));
  try {
    for (const std::string& name : names)
      values.push_back(protocol::get_attribute(t, subject, name));
  } catch (const Raised& raised) {
    if (!is_a(raised, PyBorrow(PyExc_AttributeError))) throw;
    return none();
  }
  return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(values));
}

void match_class(Translator& t, const Instruction& i) {
  const std::vector<VarRef> named = protocol::all_items(t, t.pop());
  const VarRef type = t.pop(), subject = t.pop();
  t.push(attributes_matched(t, subject, type, named, i.arg));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::MATCH_SEQUENCE, match_sequence},
    {Opcode::MATCH_MAPPING, match_mapping},
    {Opcode::MATCH_KEYS, match_keys},
    {Opcode::MATCH_CLASS, match_class},
};

}  // namespace

const std::span<const OpcodeRow> kMatchingOps = kRows;

}  // namespace torchdyn
