// What methods of lists, tuples, dicts and sets do.
#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/iterators.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"

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

// ---- Lists and tuples: CPython's Objects/listobject.c

long index_of(Translator& t, const VarRef& value, long size, bool is_clamped) {
  if (!value->object() || !PyLong_Check(value->object().get()))
    break_graph(BreakReason::kValue, "an index that is no number");
  long index = PyLong_AsLong(value->object().get());
  if (PyErr_Occurred()) throw PythonError();
  if (index < 0) index += size;
  if (is_clamped) return std::clamp(index, 0L, size);
  if (index < 0 || index >= size) raise(t, PyBorrow(PyExc_IndexError), "pop index out of range");
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
  items.insert(items.begin() + index_of(t, args[0], static_cast<long>(items.size()), true),
               args[1]);
  return none();
}

VarRef pop_item(Translator& t, const VarRef& self, const Args& args) {
  auto& items = list_of(self);
  const auto size = static_cast<long>(items.size());
  if (size == 0) raise(t, PyBorrow(PyExc_IndexError), "pop from empty list");
  const long at = args.empty() ? size - 1 : index_of(t, args[0], size, false);
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
  const bool is_list = static_cast<const SequenceVariable&>(*self).is_list();
  if (is_list && !args[0]->object())
    break_graph(BreakReason::kRaises, "a value that is not in a list");
  raise(t, PyBorrow(PyExc_ValueError),
        is_list ? str_cat(utf8(owned(PyObject_Repr(args[0]->object().get()))), " is not in list")
                : std::string("tuple.index(x): x not in tuple"));
}

VarRef count(Translator& t, const VarRef& self, const Args& args) {
  size_t found = 0;
  for (const VarRef& item : *self->items()) found += equals(t, item, args[0]);
  return number(found);
}

// torch.Size's.
VarRef count_elements(Translator& t, const VarRef& self, const Args&) {
  const auto* const sizes = dynamic_cast<const NamedTupleVariable*>(self.get());
  if (!sizes || std::string_view(sizes->type()->tp_name) != "torch.Size")
    break_graph(BreakReason::kCall, "tuple.numel");
  const VarRef all = std::make_shared<SequenceVariable>(/*is_list=*/true, *self->items());
  return protocol::fold(t, import_attribute(t.gil(), "math", "prod"), {{all}, {}});
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
  if (!value) raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{args[0]});
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

VarRef set_key(Translator& t, const VarRef& self, const Args& args) {
  protocol::change(t, self, args[1]);
  dict_of(self).set(args[0], args[1]);
  return none();
}

VarRef update(Translator& t, const VarRef& self, const Args& args) {
  for (const auto& [key, value] : entries_of(t, args[0])) set_key(t, self, {key, value});
  return none();
}

VarRef initialize(Translator& t, const VarRef& self, const Args& args) {
  return args.empty() ? none() : update(t, self, args);
}

VarRef get_key(Translator& t, const VarRef& self, const Args& args) {
  return protocol::get_item(t, self, args[0]);
}

VarRef delete_key(Translator& t, const VarRef& self, const Args& args) {
  protocol::delete_item(t, self, args[0]);
  return none();
}

VarRef has_key(Translator&, const VarRef& self, const Args& args) {
  const bool is_there = dict_of(self).find(args[0]) != nullptr;
  return boolean(is_there);
}

VarRef length_of_dict(Translator& t, const VarRef& self, const Args&) {
  return protocol::length(t, self);
}

VarRef iterate_keys(Translator& t, const VarRef& self, const Args&) {
  return protocol::iterate(t, self);
}

// CPython: Objects/odictobject.c, OrderedDict_move_to_end.
VarRef move_to_end(Translator& t, const VarRef& self, const Args& args) {
  const VarRef value = dict_of(self).find(args[0]);
  if (!value) raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{args[0]});
  protocol::change(t, self, nullptr);
  const bool is_last = args.size() == 1 || protocol::truth(t, args[1]);
  dict_of(self).erase(args[0]);
  auto& entries = dict_of(self).entries();
  entries.insert(is_last ? entries.end() : entries.begin(), {args[0], value});
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

VarRef add(Translator& t, const VarRef& self, const Args& args) {
  static_cast<const SetVariable&>(*self).add(t, args[0]);
  return none();
}

VarRef discard(Translator& t, const VarRef& self, const Args& args) {
  (void)static_cast<const SetVariable&>(*self).discard(t, args[0]);
  return none();
}

VarRef remove_element(Translator& t, const VarRef& self, const Args& args) {
  if (!static_cast<const SetVariable&>(*self).discard(t, args[0]))
    raise(t, PyBorrow(PyExc_KeyError), std::vector<VarRef>{args[0]});
  return none();
}

VarRef update_set(Translator& t, const VarRef& self, const Args& args) {
  for (const VarRef& value : protocol::all_items(t, args[0])) add(t, self, {value});
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
    {"tuple", "numel", 0, 0, count_elements},
    {"dict", "__contains__", 1, 1, has_key},
    {"dict", "__delitem__", 1, 1, delete_key},
    {"dict", "__getitem__", 1, 1, get_key},
    {"dict", "__init__", 0, 1, initialize},
    {"dict", "__iter__", 0, 0, iterate_keys},
    {"dict", "__len__", 0, 0, length_of_dict},
    {"dict", "__setitem__", 2, 2, set_key},
    {"dict", "clear", 0, 0, clear_dict},
    {"dict", "copy", 0, 0, copy_dict},
    {"dict", "get", 1, 2, get},
    {"dict", "items", 0, 0, items},
    {"dict", "keys", 0, 0, keys},
    {"dict", "move_to_end", 1, 2, move_to_end},
    {"dict", "pop", 1, 2, pop_key},
    {"dict", "setdefault", 1, 2, set_default},
    {"dict", "update", 1, 1, update},
    {"dict", "values", 0, 0, values},
    {"set", "add", 1, 1, add},
    {"set", "discard", 1, 1, discard},
    {"set", "remove", 1, 1, remove_element},
    {"set", "update", 1, 1, update_set},
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
  const bool is_update = method.name() == "update" || method.name() == "__init__";
  if (type == "dict" && is_update && !args.named.empty()) {
    if (!args.positional.empty()) (void)call_method_of(t, variable, {args.positional, {}});
    all = {{as_dict(args)}, {}};
  }
  if ((type == "dict" || type == "set") && !all.positional.empty())
    all.positional[0] = fixed(all.positional[0]);
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
