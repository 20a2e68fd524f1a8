// What methods of lists, tuples, dicts and sets do.
#include <algorithm>

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
using Args = std::vector<VarRef>;

const DictVariable& dict_of(const VarRef& self) { return static_cast<const DictVariable&>(*self); }

std::vector<VarRef>& list_of(const VarRef& self) {
  return static_cast<const SequenceVariable&>(*self).contents();
}

VarRef tuple(std::vector<VarRef> items) {
  return std::make_shared<SequenceVariable>(/*is_list=*/false, std::move(items));
}

VarRef number(size_t value) {
  return std::make_shared<ConstantVariable>(owned(PyLong_FromSize_t(value)));
}

// ---- Views of dicts

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

VarRef none() { return std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None))); }

// ---- Lists and tuples: CPython's Objects/listobject.c

long index_of(const VarRef& value, long size, bool is_clamped) {
  if (!value->object() || !PyLong_Check(value->object().get()))
    break_graph(BreakReason::kValue, "an index that is no number");
  long index = PyLong_AsLong(value->object().get());
  if (PyErr_Occurred()) throw PythonError();
  if (index < 0) index += size;
  if (is_clamped) return std::clamp(index, 0L, size);
  if (index < 0 || index >= size) break_graph(BreakReason::kRaises, "index out of range");
  return index;
}

VarRef append(Translator& t, const VarRef& self, const Args& args) {
  protocol::change(t, self, args[0]);
  list_of(self).push_back(args[0]);
  return none();
}

VarRef extend(Translator& t, const VarRef& self, const Args& args) {
  for (const VarRef& value : protocol::all_items(t, args[0])) append(t, self, {value});
  return none();
}

VarRef insert(Translator& t, const VarRef& self, const Args& args) {
  protocol::change(t, self, args[1]);
  auto& items = list_of(self);
  items.insert(items.begin() + index_of(args[0], static_cast<long>(items.size()), true), args[1]);
  return none();
}

VarRef pop_item(Translator& t, const VarRef& self, const Args& args) {
  auto& items = list_of(self);
  const auto size = static_cast<long>(items.size());
  if (size == 0) break_graph(BreakReason::kRaises, "pop from an empty list");
  const long at = args.empty() ? size - 1 : index_of(args[0], size, false);
  protocol::change(t, self, nullptr);
  VarRef value = items[at];
  items.erase(items.begin() + at);
  return value;
}

VarRef clear_list(Translator& t, const VarRef& self, const Args&) {
  protocol::change(t, self, nullptr);
  list_of(self).clear();
  return none();
}

VarRef reverse(Translator& t, const VarRef& self, const Args&) {
  protocol::change(t, self, nullptr);
  std::reverse(list_of(self).begin(), list_of(self).end());
  return none();
}

VarRef copy_list(Translator&, const VarRef& self, const Args&) {
  return std::make_shared<SequenceVariable>(/*is_list=*/true, *self->items());
}

bool equals(Translator& t, const VarRef& a, const VarRef& b) {
  return a == b || protocol::truth(t, protocol::number(t, "eq", a, b));
}

VarRef find_index(Translator& t, const VarRef& self, const Args& args) {
  size_t at = 0;
  for (const VarRef& item : *self->items()) {
    if (equals(t, item, args[0])) return number(at);
    ++at;
  }
  break_graph(BreakReason::kRaises, "a value that is not there");
}

VarRef count(Translator& t, const VarRef& self, const Args& args) {
  size_t found = 0;
  for (const VarRef& item : *self->items()) found += equals(t, item, args[0]);
  return number(found);
}

// ---- Dicts: CPython's Objects/dictobject.c

VarRef keys(Translator&, const VarRef& self, const Args&) {
  return std::make_shared<ViewVariable>(self, "keys", keys_of);
}

VarRef values(Translator&, const VarRef& self, const Args&) {
  return std::make_shared<ViewVariable>(self, "values", values_of);
}

VarRef items(Translator&, const VarRef& self, const Args&) {
  return std::make_shared<ViewVariable>(self, "items", items_of);
}

VarRef get(Translator&, const VarRef& self, const Args& args) {
  if (VarRef value = dict_of(self).find(args[0])) return value;
  return args.size() > 1 ? args[1] : none();
}

VarRef pop_key(Translator& t, const VarRef& self, const Args& args) {
  VarRef value = dict_of(self).find(args[0]);
  if (!value && args.size() > 1) return args[1];
  if (!value) break_graph(BreakReason::kRaises, "a key that is not there");
  protocol::change(t, self, nullptr);
  dict_of(self).erase(args[0]);
  return value;
}

VarRef set_default(Translator& t, const VarRef& self, const Args& args) {
  if (VarRef value = dict_of(self).find(args[0])) return value;
  VarRef value = args.size() > 1 ? args[1] : none();
  protocol::change(t, self, value);
  dict_of(self).set(args[0], value);
  return value;
}

VarRef update(Translator& t, const VarRef& self, const Args& args) {
  const auto* const other = dynamic_cast<const DictVariable*>(args[0].get());
  if (!other) break_graph(BreakReason::kValue, "update with a " + args[0]->type_name());
  for (const auto& [key, value] : DictVariable::Entries(other->entries())) {
    protocol::change(t, self, value);
    dict_of(self).set(key, value);
  }
  return none();
}

VarRef clear_dict(Translator& t, const VarRef& self, const Args&) {
  protocol::change(t, self, nullptr);
  dict_of(self).entries().clear();
  return none();
}

VarRef copy_dict(Translator&, const VarRef& self, const Args&) {
  return std::make_shared<DictVariable>(dict_of(self).entries());
}

// ---- Sets

VarRef add(Translator&, const VarRef& self, const Args& args) {
  static_cast<const SetVariable&>(*self).add(args[0]);
  return none();
}

struct MethodRow {
  std::string_view type, name;
  size_t least, most;  // arguments
  VarRef (*run)(Translator&, const VarRef& self, const Args& args);
};

constexpr MethodRow kMethods[] = {
    {"list", "append", 1, 1, append},
    {"list", "clear", 0, 0, clear_list},
    {"list", "copy", 0, 0, copy_list},
    {"list", "count", 1, 1, count},
    {"list", "extend", 1, 1, extend},
    {"list", "index", 1, 1, find_index},
    {"list", "insert", 2, 2, insert},
    {"list", "pop", 0, 1, pop_item},
    {"list", "reverse", 0, 0, reverse},
    {"tuple", "count", 1, 1, count},
    {"tuple", "index", 1, 1, find_index},
    {"dict", "clear", 0, 0, clear_dict},
    {"dict", "copy", 0, 0, copy_dict},
    {"dict", "get", 1, 2, get},
    {"dict", "items", 0, 0, items},
    {"dict", "keys", 0, 0, keys},
    {"dict", "pop", 1, 2, pop_key},
    {"dict", "setdefault", 1, 2, set_default},
    {"dict", "update", 1, 1, update},
    {"dict", "values", 0, 0, values},
    {"set", "add", 1, 1, add},
};

VarRef as_dict(const CallArgs& args) {
  DictVariable::Entries entries;
  for (const auto& [name, value] : args.named)
    entries.emplace_back(std::make_shared<ConstantVariable>(torchdyn::name(name)), value);
  return std::make_shared<DictVariable>(std::move(entries));
}

VarRef call_method_of(Translator& t, const VarRef& variable, const CallArgs& args) {
  const auto& method = static_cast<const ContainerMethodVariable&>(*variable);
  const std::string type = method.self()->type_name();
  CallArgs all{args};
  if (type == "dict" && method.name() == "update" && !args.named.empty()) {
    if (!args.positional.empty()) (void)call_method_of(t, variable, {args.positional, {}});
    all = {{as_dict(args)}, {}};
  }
  for (const MethodRow& row : kMethods)
    if (row.type == type && row.name == method.name() && all.named.empty() &&
        all.positional.size() >= row.least && all.positional.size() <= row.most)
      return row.run(t, method.self(), all.positional);
  break_graph(BreakReason::kCall, str_cat(type, ".", method.name()));
}

}  // namespace

void ContainerMethodVariable::rebuild(CodeWriter& w) const {
  w.value(self_);
  w.attribute(torchdyn::name(name_));
}

const Slots& ContainerMethodVariable::slots() const {
  static constexpr Slots kSlots{.call = call_method_of};
  return kSlots;
}

}  // namespace torchdyn
