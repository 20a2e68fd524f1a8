#include "torchdyn/variables/iterators.h"

#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

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

std::vector<VarRef> SequenceIterator::parts() const {
  return sequence_ ? std::vector<VarRef>{sequence_} : std::vector<VarRef>{};
}

// CPython: Objects/iterobject.c, iter_setstate, which sequences' iterators share.
void SequenceIterator::rebuild(CodeWriter& w) const {
  if (sequence_) {
    w.value(sequence_);
  } else {
    w.emit(Opcode::BUILD_TUPLE, 0);
  }
  w.emit(Opcode::GET_ITER);
  if (!sequence_ || at_ == 0) return;
  const int iterator = w.temporary();
  w.store_temporary(iterator);
  const bool null_first = running_version() < PythonVersion::k3_13;
  if (null_first) w.emit(Opcode::PUSH_NULL);
  w.load_temporary(iterator);
  w.attribute(name("__setstate__"));
  if (!null_first) w.emit(Opcode::PUSH_NULL);
  w.constant(owned(PyLong_FromSize_t(at_)));
  w.end_call(1);
  w.emit(Opcode::POP_TOP);
  w.load_temporary(iterator);
}

VarRef EnumerateIterator::next(Translator& t) const {
  VarRef value = protocol::next(t, inner_);
  if (!value) return nullptr;
  VarRef number = std::make_shared<ConstantVariable>(owned(PyLong_FromLong(at_++)));
  return std::make_shared<SequenceVariable>(
      /*is_list=*/false, std::vector<VarRef>{std::move(number), std::move(value)});
}

void EnumerateIterator::rebuild(CodeWriter& w) const {
  w.begin_call(PyBorrow(reinterpret_cast<PyObject*>(&PyEnum_Type)));
  w.value(inner_);
  w.constant(owned(PyLong_FromLong(at_)));
  w.end_call(2);
}

// CPython: Python/bltinmodule.c, zip_next: those before the one that ends have moved on.
VarRef ZipIterator::next(Translator& t) const {
  if (inner_.empty()) return nullptr;
  std::vector<VarRef> values;
  for (const VarRef& iterator : inner_) {
    VarRef value = protocol::next(t, iterator);
    if (!value) return nullptr;
    values.push_back(std::move(value));
  }
  return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(values));
}

void ZipIterator::rebuild(CodeWriter& w) const {
  w.begin_call(PyBorrow(reinterpret_cast<PyObject*>(&PyZip_Type)));
  for (const VarRef& inner : inner_) w.value(inner);
  w.end_call(static_cast<uint32_t>(inner_.size()));
}

VarRef CountIterator::next(Translator&) const {
  return std::make_shared<ConstantVariable>(owned(PyLong_FromLong(at_++)));
}

VarRef MapIterator::next(Translator& t) const {
  const VarRef values = inner_->next(t);
  return values ? protocol::call(t, function_, {*values->items(), {}}) : nullptr;
}

std::vector<VarRef> MapIterator::parts() const {
  std::vector<VarRef> all = inner_->parts();
  all.push_back(function_);
  return all;
}

void MapIterator::rebuild(CodeWriter& w) const {
  const std::vector<VarRef> inner = inner_->parts();
  w.begin_call(PyBorrow(reinterpret_cast<PyObject*>(&PyMap_Type)));
  w.value(function_);
  for (const VarRef& iterator : inner) w.value(iterator);
  w.end_call(static_cast<uint32_t>(inner.size()) + 1);
}

}  // namespace torchdyn
