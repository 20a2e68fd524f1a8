// Operators, items, and tuples and lists.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// CPython: Include/opcode.h, NB_*, as functions of the module operator.
constexpr const char* kBinary[] = {
    "add",    "and_", "floordiv", "lshift", "matmul",  "mul",  "mod",       "or_",     "pow",
    "rshift", "sub",  "truediv",  "xor",    "iadd",    "iand", "ifloordiv", "ilshift", "imatmul",
    "imul",   "imod", "ior",      "ipow",   "irshift", "isub", "itruediv",  "ixor"};

// CPython: Python/ceval.c, the order of <, <=, ==, !=, >, >=.
constexpr const char* kCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};

void binary(Translator& t, const Instruction& i) {
  const VarRef right = t.pop(), left = t.pop();
  t.push(protocol::number(t, kBinary[i.arg], left, right));
}

// The operator is above the bits of a mask: none in 3.11, four in 3.12, five in 3.13.
void compare(Translator& t, const Instruction& i) {
  constexpr int kMaskBits[] = {0, 4, 5};
  const VarRef right = t.pop(), left = t.pop();
  const uint32_t which = i.arg >> kMaskBits[static_cast<int>(t.version())];
  t.push(protocol::number(t, kCompare[which], left, right));
}

void negative(Translator& t, const Instruction&) {
  const VarRef value = t.pop();
  if (dynamic_cast<const TensorVariable*>(value.get()) == nullptr)
    break_graph(BreakReason::kOpcode, "UNARY_NEGATIVE of a " + value->type_name());
  t.push(protocol::call(t, protocol::get_attribute(t, value, "neg"), {}));
}

void subscript(Translator& t, const Instruction&) {
  const VarRef key = t.pop(), object = t.pop();
  t.push(protocol::get_item(t, object, key));
}

void build_tuple(Translator& t, const Instruction& i) {
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/false, t.pop(i.arg)));
}

void build_list(Translator& t, const Instruction& i) {
  t.push(std::make_shared<SequenceVariable>(/*is_list=*/true, t.pop(i.arg)));
}

void unpack(Translator& t, const Instruction& i) {
  const VarRef sequence = t.pop();
  const auto* items = sequence->items();
  if (!items) break_graph(BreakReason::kValue, "unpacking a " + sequence->type_name());
  if (items->size() != i.arg)
    break_graph(BreakReason::kRaises, "unpacking another number of values");
  for (auto item = items->rbegin(); item != items->rend(); ++item) t.push(*item);
}

constexpr OpcodeRow kRows[] = {
    {Opcode::BINARY_OP, binary},        {Opcode::COMPARE_OP, compare},
    {Opcode::UNARY_NEGATIVE, negative}, {Opcode::BINARY_SUBSCR, subscript},
    {Opcode::BUILD_TUPLE, build_tuple}, {Opcode::BUILD_LIST, build_list},
    {Opcode::UNPACK_SEQUENCE, unpack},
};

}  // namespace

const std::span<const OpcodeRow> kOperatorOps = kRows;

}  // namespace torchdyn
