// Dicts whose keys are constants, and what containers' methods do.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
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

std::vector<VarRef> values_of(const VarRef& self) {
  std::vector<VarRef> values;
  for (const auto& [key, value] : dict_of(self).entries()) values.push_back(value);
  return values;
}

std::vector<VarRef> items_of(const VarRef& self) {
  std::vector<VarRef> items;
  for (const auto& [key, value] : dict_of(self).entries()) items.push_back(tuple({key, value}));
  return items;
}

// What keys(), values() and items() give: to be iterated over.
class ViewVariable : public Variable {
 public:
  using Read = std::vector<VarRef> (*)(const VarRef& dict);
  ViewVariable(VarRef dict, const char* name, Read read)
      : dict_(std::move(dict)), name_(name), read_(read) {}

  const Slots& slots() const override;
  std::string type_name() const override { return "view of a dict"; }
  std::vector<VarRef> parts() const override { return {dict_}; }
  void rebuild(CodeWriter& w) const override;
  std::vector<VarRef> read() const { return read_(dict_); }

 private:
  VarRef dict_;
  const char* name_;
  Read read_;
};

void ViewVariable::rebuild(CodeWriter& w) const {
  w.begin_call(std::make_shared<ContainerMethodVariable>(dict_, name_));
  w.end_call(0);
}

VarRef iterate_view(Translator&, const VarRef& self) {
  return std::make_shared<SequenceIterator>(tuple(static_cast<const ViewVariable&>(*self).read()));
}

VarRef length_of_view(Translator&, const VarRef& self) {
  const size_t size = static_cast<const ViewVariable&>(*self).read().size();
  return std::make_shared<ConstantVariable>(owned(PyLong_FromSize_t(size)));
}

const Slots& ViewVariable::slots() const {
  static constexpr Slots kSlots{.iterate = iterate_view, .length = length_of_view};
  return kSlots;
}

VarRef get_item(Translator&, const VarRef& self, const VarRef& key) {
  if (VarRef value = dict_of(self).find(key)) return value;
  break_graph(BreakReason::kRaises, "a key that is not there");
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

// ---- Methods

VarRef none() { return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None))); }

VarRef append(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  protocol::change(t, self, args[0]);
  static_cast<const SequenceVariable&>(*self).contents().push_back(args[0]);
  return none();
}

VarRef extend(Translator& t, const VarRef& self, const std::vector<VarRef>& args) {
  for (const VarRef& value : protocol::all_items(t, args[0])) append(t, self, {value});
  return none();
}

VarRef keys(Translator&, const VarRef& self, const std::vector<VarRef>&) {
  return std::make_shared<ViewVariable>(self, "keys", keys_of);
}

VarRef values(Translator&, const VarRef& self, const std::vector<VarRef>&) {
  return std::make_shared<ViewVariable>(self, "values", values_of);
}

VarRef items(Translator&, const VarRef& self, const std::vector<VarRef>&) {
  return std::make_shared<ViewVariable>(self, "items", items_of);
}

VarRef get(Translator&, const VarRef& self, const std::vector<VarRef>& args) {
  if (VarRef value = dict_of(self).find(args[0])) return value;
  return args.size() > 1 ? args[1] : none();
}

struct MethodRow {
  std::string_view type, name;
  size_t least, most;  // arguments
  VarRef (*run)(Translator&, const VarRef& self, const std::vector<VarRef>& args);
};

constexpr MethodRow kMethods[] = {
    {"list", "append", 1, 1, append}, {"list", "extend", 1, 1, extend},
    {"dict", "keys", 0, 0, keys},     {"dict", "values", 0, 0, values},
    {"dict", "items", 0, 0, items},   {"dict", "get", 1, 2, get},
};

VarRef call_method_of(Translator& t, const VarRef& variable, const CallArgs& args) {
  const auto& method = static_cast<const ContainerMethodVariable&>(*variable);
  const std::string type = method.self()->type_name();
  for (const MethodRow& row : kMethods)
    if (row.type == type && row.name == method.name() && args.named.empty() &&
        args.positional.size() >= row.least && args.positional.size() <= row.most)
      return row.run(t, method.self(), args.positional);
  break_graph(BreakReason::kCall, str_cat(type, ".", method.name()));
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

void ContainerMethodVariable::rebuild(CodeWriter& w) const {
  w.value(self_);
  w.attribute(torchdyn::name(name_));
}

const Slots& ContainerMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_method_of};
  return kSlots;
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
  const VarRef value = find(key);
  std::erase_if(entries_, [&](const auto& entry) { return entry.second == value; });
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
