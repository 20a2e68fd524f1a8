// Sets: CPython's own hold what is in them, so that the order of constants is its.
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

// The order of objects is that of their addresses.
VarRef iterate(Translator&, const VarRef& self) {
  if (static_cast<const SetVariable&>(*self).has_objects())
    break_graph(BreakReason::kControlFlow, "a set of objects");
  PyRef items = owned(PySequence_Tuple(set_of(self).get()));
  return std::make_shared<SequenceIterator>(protocol::from_constant(std::move(items)));
}

VarRef length(Translator&, const VarRef& self) {
  return std::make_shared<ConstantVariable>(
      owned(PyLong_FromSsize_t(PySet_Size(set_of(self).get()))));
}

bool contains(Translator& t, const VarRef& self, const VarRef& value) {
  return static_cast<const SetVariable&>(*self).holds(t, value);
}

// CPython: Objects/setobject.c, set_as_number: of two sets of constants.
VarRef number(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  const auto* const a = dynamic_cast<const SetVariable*>(left.get());
  const auto* const b = dynamic_cast<const SetVariable*>(right.get());
  const std::string name = text_of(attribute(t.gil(), function, "__name__"));
  if (!a || !b || a->has_objects() || b->has_objects() || name.starts_with('i'))
    break_graph(BreakReason::kValue,
                left->type_name() + " and " + right->type_name() + " of operator." + name);
  std::vector<PyRef> both;
  both.push_back(PyRef::to(a->set()));
  both.push_back(PyRef::to(b->set()));
  PyRef result = call(t.gil(), function, tuple_of(both));
  if (PySet_Check(result.get())) return std::make_shared<SetVariable>(std::move(result));
  return std::make_shared<ConstantVariable>(std::move(result));
}

// What stands for a value in CPython's set. That an object from outside is, or is not, another one
// is guarded by which it is.
PyRef element_of(Translator& t, const VarRef& value) {
  if (PyRef known = protocol::as_constant(value)) return known;
  if (const auto* const tensor = dynamic_cast<const TensorVariable*>(value.get())) {
    const PyRef parameter = import_attribute(t.gil(), "torch.nn", "Parameter");
    if (tensor->source() && reinterpret_cast<PyObject*>(tensor->type()) == parameter.get()) {
      auto same = Same::of(tensor->source()->read(t.frame()));
      if (!same) break_graph(BreakReason::kValue, "a set with a tensor that is found so");
      t.guards().add(tensor->source(), std::move(*same));
    } else if (tensor->source()) {
      break_graph(BreakReason::kValue, "a set with a tensor from outside");
    }
    return PyRef::to(tensor->like());
  }
  const bool is_found = dynamic_cast<const ObjectVariable*>(value.get()) != nullptr;
  if (!is_found || !has_identity_hash(value->object()))
    break_graph(BreakReason::kValue, "a set with a " + value->type_name());
  t.guard_identity(*value);
  return PyRef::to(value->object());
}

bool is_constant_element(const VarRef& value) {
  return protocol::as_constant(value).get() != nullptr;
}

}  // namespace

void SetVariable::add(Translator& t, const VarRef& value) const {
  if (holds(t, value)) return;
  if (PySet_Add(set_.get(), element_of(t, value).get()) != 0) throw PythonError();
  if (!is_constant_element(value)) objects_.push_back(value);
}

bool SetVariable::discard(Translator& t, const VarRef& value) const {
  const PyRef element = element_of(t, value);
  const int answer = PySet_Discard(set_.get(), element.get());
  if (answer < 0) throw PythonError();
  std::erase_if(objects_, [&](const VarRef& object) {
    return PyBorrow(element_of(t, object)) == PyBorrow(element);
  });
  return answer == 1;
}

bool SetVariable::holds(Translator& t, const VarRef& value) const {
  const int answer = PySet_Contains(set_.get(), element_of(t, value).get());
  if (answer < 0) throw PythonError();
  return answer == 1;
}

void SetVariable::rebuild(CodeWriter& w) const {
  if (has_objects()) {
    for (const VarRef& object : objects_) w.value(object);
    if (PySet_Size(set_.get()) != static_cast<Py_ssize_t>(objects_.size()))
      break_graph(BreakReason::kRebuild, "a set of constants and objects");
  } else {
    const PyRef items = owned(PySequence_Tuple(set_.get()));
    for (const PyBorrow item : items_of(items)) w.constant(item);
  }
  w.emit(Opcode::BUILD_SET, static_cast<uint32_t>(PySet_Size(set_.get())));
}

const Slots& SetVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute,
                                .number = number,
                                .iterate = iterate,
                                .contains = contains,
                                .length = length};
  return kSlots;
}

}  // namespace torchdyn
