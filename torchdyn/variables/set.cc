// Sets of constants: CPython's own hold them, so that their order is its.
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

PyBorrow set_of(const VarRef& self) { return static_cast<const SetVariable&>(*self).set(); }

VarRef get_attribute(Translator&, const VarRef& self, const std::string& name) {
  return std::make_shared<ContainerMethodVariable>(self, name);
}

VarRef iterate(Translator&, const VarRef& self) {
  PyRef items = owned(PySequence_Tuple(set_of(self).get()));
  return std::make_shared<SequenceIterator>(protocol::from_constant(std::move(items)));
}

VarRef length(Translator&, const VarRef& self) {
  return std::make_shared<ConstantVariable>(
      owned(PyLong_FromSsize_t(PySet_Size(set_of(self).get()))));
}

bool contains(Translator&, const VarRef& self, const VarRef& value) {
  const PyRef known = protocol::as_constant(value);
  if (!known) break_graph(BreakReason::kValue, "whether a " + value->type_name() + " is in a set");
  const int answer = PySet_Contains(set_of(self).get(), known.get());
  if (answer < 0) throw PythonError();
  return answer == 1;
}

}  // namespace

void SetVariable::add(const VarRef& value) const {
  const PyRef known = protocol::as_constant(value);
  if (!known) break_graph(BreakReason::kValue, "a set with a " + value->type_name());
  if (PySet_Add(set_.get(), known.get()) != 0) throw PythonError();
}

bool SetVariable::discard(const VarRef& value) const {
  const PyRef known = protocol::as_constant(value);
  if (!known) break_graph(BreakReason::kValue, "a set without a " + value->type_name());
  const int answer = PySet_Discard(set_.get(), known.get());
  if (answer < 0) throw PythonError();
  return answer == 1;
}

void SetVariable::rebuild(CodeWriter& w) const {
  const PyRef items = owned(PySequence_Tuple(set_.get()));
  for (const PyBorrow item : items_of(items)) w.constant(item);
  w.emit(Opcode::BUILD_SET, static_cast<uint32_t>(PySet_Size(set_.get())));
}

const Slots& SetVariable::slots() const {
  static constexpr Slots kSlots{
      .getattro = get_attribute, .iterate = iterate, .contains = contains, .length = length};
  return kSlots;
}

}  // namespace torchdyn
