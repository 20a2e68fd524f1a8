// Dicts whose keys are constants, and what containers' methods do.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

const DictVariable& dict_of(const VarRef& self) { return static_cast<const DictVariable&>(*self); }

VarRef tuple(std::vector<VarRef> items) {
  return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items));
}

std::vector<VarRef> keys_of(const VarRef& self) {
  std::vector<VarRef> keys;
  for (const auto& [key, value] : dict_of(self).entries()) keys.push_back(key);
  return keys;
}

VarRef get_item(Translator& t, const VarRef& self, const VarRef& key) {
  if (VarRef value = dict_of(self).find(key)) return value;
  raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{key});
}

void set_item(Translator& t, const VarRef& self, const VarRef& key, const VarRef& value) {
  protocol::change(t, self, value);
  dict_of(self).set(key, value);
}

VarRef iterate(Translator&, const VarRef& self) {
  return std::make_shared<SequenceIterator>(tuple(keys_of(self)));
}

VarRef length(Translator&, const VarRef& self) {
  return std::make_shared<ConstantVariable>(
      owned(PyLong_FromSize_t(dict_of(self).entries().size())));
}

VarRef get_attribute(Translator&, const VarRef& self, const std::string& name) {
  return std::make_shared<ContainerMethodVariable>(self, name);
}

}  // namespace

const Slots& DictVariable::slots() const {
  static constexpr Slots kSlots{.getattro = get_attribute,
                                .subscript = get_item,
                                .set_item = set_item,
                                .iterate = iterate,
                                .length = length};
  return kSlots;
}

std::vector<VarRef> DictVariable::parts() const {
  std::vector<VarRef> values;
  for (const auto& [key, value] : entries_) values.push_back(value);
  return values;
}

void DictVariable::rebuild(CodeWriter& w) const {
  for (const auto& [key, value] : entries_) {
    w.value(key);
    w.value(value);
  }
  w.emit(Opcode::BUILD_MAP, static_cast<uint32_t>(entries_.size()));
}

VarRef DictVariable::find(const VarRef& key) const {
  if (!key->object() || !is_plain_constant(key->object()))
    break_graph(BreakReason::kValue, "a key that is a " + key->type_name());
  for (const auto& [known, value] : entries_) {
    const int equal = PyObject_RichCompareBool(known->object().get(), key->object().get(), Py_EQ);
    if (equal < 0) throw PythonError();
    if (equal == 1) return value;
  }
  return nullptr;
}

void DictVariable::erase(const VarRef& key) const {
  std::erase_if(entries_, [&](const auto& entry) {
    return PyObject_RichCompareBool(entry.first->object().get(), key->object().get(), Py_EQ) == 1;
  });
}

void DictVariable::set(const VarRef& key, VarRef value) const {
  if (!find(key)) {
    entries_.emplace_back(key, std::move(value));
    return;
  }
  for (auto& [known, old] : entries_)
    if (PyObject_RichCompareBool(known->object().get(), key->object().get(), Py_EQ) == 1)
      old = std::move(value);
}

}  // namespace torchdyn
