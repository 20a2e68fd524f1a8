// Constants: operations on them are done at once.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

VarRef evaluate(Translator& t, PyBorrow function, const VarRef& left, const VarRef& right) {
  if (!left->object() || !right->object() || right->slots().number == nullptr)
    break_graph(BreakReason::kValue, right->type_name());
  std::vector<PyRef> args;
  args.push_back(PyRef::to(left->object()));
  args.push_back(PyRef::to(right->object()));
  return std::make_shared<ConstantVariable>(call(t.gil(), function, tuple_of(args)));
}

VarRef item(Translator& t, const VarRef& self, const VarRef& key) {
  return evaluate(t, import_attribute(t.gil(), "operator", "getitem"), self, key);
}

// Tuples, sizes, ranges and strings; kMostItems keeps a range of millions from being unrolled.
VarRef iterate(Translator&, const VarRef& self) {
  constexpr Py_ssize_t kMostItems = 10'000;
  const Py_ssize_t count = PyObject_Size(self->object().get());
  if (count < 0) throw PythonError();
  if (count > kMostItems) break_graph(BreakReason::kLength, self->type_name());
  std::vector<VarRef> items;
  const PyRef all = owned(PySequence_List(self->object().get()));
  for (const PyBorrow item : items_of(all))
    items.push_back(std::make_shared<ConstantVariable>(PyRef::to(item)));
  return std::make_shared<SequenceIterator>(
      std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items)));
}

}  // namespace

const Slots& ConstantVariable::slots() const {
  static constexpr Slots kSlots{.number = evaluate, .subscript = item, .iterate = iterate};
  return kSlots;
}

std::string ConstantVariable::type_name() const { return Py_TYPE(value_.get())->tp_name; }

}  // namespace torchdyn
