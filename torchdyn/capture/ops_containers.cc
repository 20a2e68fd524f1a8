// Tuples, lists and dicts: made, filled, unpacked, written to.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/contents.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

void build_tuple(Translator& t, const Instruction& i) {
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/false, t.pop(i.arg)));
}

void build_list(Translator& t, const Instruction& i) {
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/true, t.pop(i.arg)));
}

const SequenceVariable& list_at(Translator& t, uint32_t depth) {
  return dynamic_cast<const SequenceVariable&>(*t.at_depth(depth));
}

const DictVariable& dict_at(Translator& t, uint32_t depth) {
  return dynamic_cast<const DictVariable&>(*t.at_depth(depth));
}

void append(Translator& t, const Instruction& i) {
  VarRef value = t.pop();
  list_at(t, i.arg).contents().push_back(std::move(value));
}

void extend(Translator& t, const Instruction& i) {
  const VarRef more = t.pop();
  for (VarRef& value : protocol::all_items(t, more))
    list_at(t, i.arg).contents().push_back(std::move(value));
}

void list_to_tuple(Translator& t, const Instruction&) {
  const VarRef list = t.pop();
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/false, protocol::all_items(t, list)));
}

void build_map(Translator& t, const Instruction& i) {
  const std::vector<VarRef> values = t.pop(size_t{2} * i.arg);
  const auto dict = std::make_shared<DictVariable>(DictVariable::Entries{});
  for (size_t n = 0; n < values.size(); n += 2) dict->set(values[n], values[n + 1]);
  t.push(dict);
}

void build_map_of_constant_keys(Translator& t, const Instruction& i) {
  const VarRef keys = t.pop();
  const std::vector<VarRef> values = t.pop(i.arg);
  const auto dict = std::make_shared<DictVariable>(DictVariable::Entries{});
  size_t n = 0;
  for (const VarRef& key : protocol::all_items(t, keys)) dict->set(key, values[n++]);
  t.push(dict);
}

void add_to_map(Translator& t, const Instruction& i) {
  const VarRef value = t.pop(), key = t.pop();
  dict_at(t, i.arg).set(key, value);
}

// CPython: Python/bytecodes.c, DICT_UPDATE and DICT_MERGE, which takes no key twice.
template <bool twice>
void merge(Translator& t, const Instruction& i) {
  const VarRef other = t.pop();
  for (const auto& [key, value] : entries_of(t, other)) {
    if (!twice && dict_at(t, i.arg).find(key))
      break_graph(BreakReason::kRaises, "a keyword argument twice");
    dict_at(t, i.arg).set(key, value);
  }
}

void unpack(Translator& t, const Instruction& i) {
  const VarRef sequence = t.pop();
  const std::vector<VarRef> items = protocol::all_items(t, sequence);
  if (items.size() != i.arg)
    break_graph(BreakReason::kRaises, "unpacking another number of values");
  for (auto item = items.rbegin(); item != items.rend(); ++item) t.push(*item);
}

// CPython: Python/bytecodes.c, UNPACK_EX: a, *b, c = sequence.
void unpack_with_rest(Translator& t, const Instruction& i) {
  const VarRef sequence = t.pop();
  std::vector<VarRef> items = protocol::all_items(t, sequence);
  const size_t before = i.arg & 255, after = i.arg >> 8;
  if (items.size() < before + after)
    break_graph(BreakReason::kRaises, "unpacking another number of values");
  for (size_t n = 0; n < after; ++n) t.push(items[items.size() - 1 - n]);
  t.push(std::make_shared<SequenceVariable>(
      /*is_list=*/true, std::vector<VarRef>(items.begin() + before, items.end() - after)));
  for (size_t n = before; n > 0; --n) t.push(items[n - 1]);
}

void build_set(Translator& t, const Instruction& i) {
  const auto set = std::make_shared<SetVariable>(owned(PySet_New(nullptr)));
  for (const VarRef& value : t.pop(i.arg)) set->add(t, value);
  t.push(set);
}

void add_to_set(Translator& t, const Instruction& i) {
  const VarRef value = t.pop();
  dynamic_cast<const SetVariable&>(*t.at_depth(i.arg)).add(t, value);
}

void update_set(Translator& t, const Instruction& i) {
  const VarRef more = t.pop();
  for (const VarRef& value : protocol::all_items(t, more))
    dynamic_cast<const SetVariable&>(*t.at_depth(i.arg)).add(t, value);
}

void store_subscript(Translator& t, const Instruction&) {
  const VarRef key = t.pop(), object = t.pop(), value = t.pop();
  protocol::set_item(t, object, key, value);
}

void store_slice(Translator& t, const Instruction&) {
  const VarRef stop = t.pop(), start = t.pop(), object = t.pop(), value = t.pop();
  for (const VarRef& part : {start, stop})
    if (!part->object()) break_graph(BreakReason::kValue, "a slice with a " + part->type_name());
  const VarRef slice = std::make_shared<ConstantVariable>(
      owned(PySlice_New(start->object().get(), stop->object().get(), nullptr)));
  protocol::set_item(t, object, slice, value);
}

void delete_subscript(Translator& t, const Instruction&) {
  const VarRef key = t.pop(), object = t.pop();
  protocol::delete_item(t, object, key);
}

void contains(Translator& t, const Instruction& i) {
  const VarRef container = t.pop(), value = t.pop();
  const bool is_in = protocol::contains(t, container, value) != (i.arg == 1);
  t.push(boolean(is_in));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::BUILD_TUPLE, build_tuple},
    {Opcode::BUILD_LIST, build_list},
    {Opcode::LIST_APPEND, append},
    {Opcode::LIST_EXTEND, extend},
    {Opcode::LIST_TO_TUPLE, list_to_tuple},
    {Opcode::BUILD_MAP, build_map},
    {Opcode::BUILD_CONST_KEY_MAP, build_map_of_constant_keys},
    {Opcode::MAP_ADD, add_to_map},
    {Opcode::DICT_MERGE, merge<false>},
    {Opcode::DICT_UPDATE, merge<true>},
    {Opcode::UNPACK_SEQUENCE, unpack},
    {Opcode::UNPACK_EX, unpack_with_rest},
    {Opcode::BUILD_SET, build_set},
    {Opcode::SET_ADD, add_to_set},
    {Opcode::SET_UPDATE, update_set},
    {Opcode::STORE_SUBSCR, store_subscript},
    {Opcode::DELETE_SUBSCR, delete_subscript},
    {Opcode::CONTAINS_OP, contains},
    {Opcode::STORE_SLICE, store_slice},
};

}  // namespace

const std::span<const OpcodeRow> kContainerOps = kRows;

}  // namespace torchdyn
