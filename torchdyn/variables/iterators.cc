#include "torchdyn/variables/iterators.h"

#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"

namespace torchdyn {
namespace {

VarRef next_of(Translator& t, const VarRef& iterator) {
  const auto* const known = dynamic_cast<const IteratorVariable*>(iterator.get());
  if (!known) break_graph(BreakReason::kControlFlow, iterator->type_name());
  return known->next(t);
}

VarRef itself(Translator&, const VarRef& self) { return self; }

}  // namespace

const Slots& IteratorVariable::slots() const {
  static constexpr Slots kSlots{.iterate = itself};
  return kSlots;
}

// CPython: Objects/listobject.c, listiter_next.
VarRef SequenceIterator::next(Translator&) const {
  if (!sequence_) return nullptr;
  const auto& items = *sequence_->items();
  if (at_ < items.size()) return items[at_++];
  sequence_ = nullptr;
  return nullptr;
}

VarRef EnumerateIterator::next(Translator& t) const {
  VarRef value = next_of(t, inner_);
  if (!value) return nullptr;
  VarRef number = std::make_shared<ConstantVariable>(owned(PyLong_FromLong(at_++)));
  return std::make_shared<SequenceVariable>(
      /*is_list=*/false, std::vector<VarRef>{std::move(number), std::move(value)});
}

// CPython: Python/bltinmodule.c, zip_next: those before the one that ends have moved on.
VarRef ZipIterator::next(Translator& t) const {
  if (inner_.empty()) return nullptr;
  std::vector<VarRef> values;
  for (const VarRef& iterator : inner_) {
    VarRef value = next_of(t, iterator);
    if (!value) return nullptr;
    values.push_back(std::move(value));
  }
  return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(values));
}

}  // namespace torchdyn
