#include "torchdyn/capture/side_effects.h"

#include <algorithm>

#include "torchdyn/capture/code_writer.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/guards/tree.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

PyBorrow found_object(const Variable& owner) {
  if (owner.object()) return owner.object();
  if (const auto* const sequence = dynamic_cast<const SequenceVariable*>(&owner))
    return sequence->found();
  if (const auto* const dict = dynamic_cast<const DictVariable*>(&owner)) return dict->found();
  return PyBorrow();
}

// list[:] = [...]
void write_list(CodeWriter& w, const VarRef& list) {
  for (const VarRef& item : *list->items()) w.value(item);
  w.emit(Opcode::BUILD_LIST, static_cast<uint32_t>(list->items()->size()));
  w.value(list);
  w.constant(owned(PySlice_New(nullptr, nullptr, nullptr)));
  w.emit(Opcode::STORE_SUBSCR);
}

// dict.clear(); dict.update({...})
void write_dict(CodeWriter& w, const VarRef& dict) {
  w.begin_call(std::make_shared<ContainerMethodVariable>(dict, "clear"));
  w.end_call(0);
  w.emit(Opcode::POP_TOP);
  w.begin_call(std::make_shared<ContainerMethodVariable>(dict, "update"));
  dynamic_cast<const DictVariable&>(*dict).rebuild(w);
  w.end_call(1);
  w.emit(Opcode::POP_TOP);
}

}  // namespace

const SideEffects::Change* SideEffects::find(PyBorrow object, const std::string& name) const {
  for (const Change& change : changes_)
    if (change.name == name && (change.owner ? change.owner->object() : PyBorrow()) == object)
      return &change;
  return nullptr;
}

void SideEffects::set_attribute(const VarRef& object, const std::string& name, VarRef value) {
  if (const Change* known = find(object->object(), name)) {
    const_cast<Change*>(known)->value = std::move(value);
  } else {
    changes_.push_back({object, name, std::move(value)});
  }
}

VarRef SideEffects::attribute(PyBorrow object, const std::string& name) const {
  const Change* const known = changes_.empty() ? nullptr : find(object, name);
  return known ? known->value : nullptr;
}

bool SideEffects::changes(PyBorrow object) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return change.owner && change.owner->object() == object;
  });
}

void SideEffects::set_global(const std::string& name, VarRef value) {
  if (const Change* known = find(PyBorrow(), name)) {
    const_cast<Change*>(known)->value = std::move(value);
  } else {
    changes_.push_back({nullptr, name, std::move(value)});
  }
}

VarRef SideEffects::global(const std::string& name) const { return attribute(PyBorrow(), name); }

void SideEffects::change(const VarRef& container) {
  for (const Change& change : changes_)
    if (change.owner == container) return;
  changes_.push_back({container, "", nullptr});
}

void SideEffects::set_context(PyBorrow variable, VarRef token) {
  std::erase_if(contexts_, [&](const auto& known) { return known.first == variable; });
  if (token) contexts_.emplace_back(variable, std::move(token));
}

VarRef SideEffects::context(PyBorrow variable) const {
  for (const auto& [known, token] : contexts_)
    if (known == variable) return token;
  return nullptr;
}

std::vector<VarRef> SideEffects::written(const Change& change) {
  return change.value ? std::vector<VarRef>{change.value} : change.owner->parts();
}

std::vector<VarRef> SideEffects::values() const {
  std::vector<VarRef> all;
  for (const Change& change : changes_)
    for (VarRef& value : written(change)) all.push_back(std::move(value));
  for (const auto& [variable, token] : contexts_) all.push_back(token);
  return all;
}

void SideEffects::found(PyBorrow object, SourceRef source) {
  found_.push_back({object, std::move(source)});
}

void SideEffects::guard_aliases(Guards* guards) const {
  for (const Change& change : changes_) {
    const PyBorrow changed = change.owner ? found_object(*change.owner) : PyBorrow();
    if (!changed) continue;
    const SourceRef& source = change.owner->source();
    for (const Found& other : found_) {
      if (*other.source == *source || Py_TYPE(other.object.get()) != Py_TYPE(changed.get()))
        continue;
      guards->add(other.source, Alias{source, other.object == changed});
    }
  }
}

void SideEffects::write(CodeWriter& w) const {
  for (const Change& change : changes_) {
    if (change.owner) w.keep(change.owner);
    for (const VarRef& value : written(change)) w.keep(value);
  }
  for (const auto& [variable, token] : contexts_) w.keep(token);
  w.fill();
  for (const Change& change : changes_) {
    if (!change.owner) {
      w.value(change.value);
      w.store_global(name(change.name));
    } else if (change.value) {
      w.value(change.value);
      w.value(change.owner);
      w.store_attribute(name(change.name));
    } else if (change.owner->items()) {
      write_list(w, change.owner);
    } else if (dynamic_cast<const DictVariable*>(change.owner.get())) {
      write_dict(w, change.owner);
    } else {
      w.value(static_cast<const CellVariable&>(*change.owner).content());
      w.value(change.owner);
      w.store_attribute(name("cell_contents"));
    }
  }
}

}  // namespace torchdyn
