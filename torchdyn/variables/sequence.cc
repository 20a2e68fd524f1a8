// Tuples and lists that the frame made itself.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

// CPython: Objects/tupleobject.c, tuplesubscript.
VarRef item(Translator&, const VarRef& self, const VarRef& key) {
  const auto& items = *self->items();
  if (!key->object() || !PyLong_CheckExact(key->object().get()))
    break_graph(BreakReason::kValue, "an index that is no number");
  long index = PyLong_AsLong(key->object().get());
  if (PyErr_Occurred()) throw PythonError();
  const long size = static_cast<long>(items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) break_graph(BreakReason::kRaises, "index out of range");
  return items[index];
}

PyRef as_sequence(bool is_list, const std::vector<PyRef>& items) {
  PyRef tuple = tuple_of(items);
  return is_list ? owned(PySequence_List(tuple.get())) : std::move(tuple);
}

}  // namespace

const Slots& SequenceVariable::slots() const {
  static constexpr Slots kSlots{.subscript = item};
  return kSlots;
}

PyRef SequenceVariable::as_node(const Gil& gil) const {
  std::vector<PyRef> nodes;
  for (const VarRef& item : items_) nodes.push_back(item->as_node(gil));
  return as_sequence(is_list_, nodes);
}

PyRef SequenceVariable::as_stand_in(const Gil& gil) const {
  std::vector<PyRef> values;
  for (const VarRef& item : items_) values.push_back(item->as_stand_in(gil));
  return as_sequence(is_list_, values);
}

}  // namespace torchdyn
