// Constants: operations on them are done at once.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
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

}  // namespace

const Slots& ConstantVariable::slots() const {
  static constexpr Slots kSlots{.number = evaluate, .subscript = item};
  return kSlots;
}

std::string ConstantVariable::type_name() const { return Py_TYPE(value_.get())->tp_name; }

}  // namespace torchdyn
