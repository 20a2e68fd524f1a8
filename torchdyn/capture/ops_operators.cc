// Operators, items and slices.
#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/symbol.h"

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

// CPython: Objects/abstract.c, UNARY_FUNC; the functions are operator's and Tensor's.
void unary(Translator& t, const char* function, const char* method) {
  const VarRef value = t.pop();
  if (dynamic_cast<const TensorVariable*>(value.get()))
    return t.push(protocol::call(t, protocol::get_attribute(t, value, method), {}));
  t.push(protocol::fold(t, import_attribute(t.gil(), "operator", function), {{value}, {}}));
}

void negative(Translator& t, const Instruction&) { unary(t, "neg", "neg"); }
void positive(Translator& t, const Instruction&) { unary(t, "pos", "positive"); }
void invert(Translator& t, const Instruction&) { unary(t, "invert", "bitwise_not"); }

void get_length(Translator& t, const Instruction&) {
  const VarRef value = t.at_depth(1);
  t.push(protocol::length(t, value));
}

void subscript(Translator& t, const Instruction&) {
  const VarRef key = t.pop(), object = t.pop();
  t.push(protocol::get_item(t, object, key));
}

// Of constants and of numbers that open sizes tell.
VarRef slice_of(const std::vector<VarRef>& parts) {
  if (std::any_of(parts.begin(), parts.end(), mentions_symbol))
    return std::make_shared<SliceVariable>(parts);
  for (const VarRef& part : parts)
    if (!part->object()) break_graph(BreakReason::kValue, "a slice with a " + part->type_name());
  const PyBorrow step = parts.size() > 2 ? parts[2]->object() : PyBorrow();
  return std::make_shared<ConstantVariable>(
      owned(PySlice_New(parts[0]->object().get(), parts[1]->object().get(), step.get())));
}

void build_slice(Translator& t, const Instruction& i) { t.push(slice_of(t.pop(i.arg))); }

void binary_slice(Translator& t, const Instruction&) {
  const VarRef slice = slice_of(t.pop(2)), object = t.pop();
  t.push(protocol::get_item(t, object, slice));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::UNARY_POSITIVE, positive}, {Opcode::UNARY_INVERT, invert},
    {Opcode::GET_LEN, get_length},      {Opcode::BINARY_OP, binary},
    {Opcode::COMPARE_OP, compare},      {Opcode::UNARY_NEGATIVE, negative},
    {Opcode::BINARY_SUBSCR, subscript}, {Opcode::BINARY_SLICE, binary_slice},
    {Opcode::BUILD_SLICE, build_slice},
};

}  // namespace

const std::span<const OpcodeRow> kOperatorOps = kRows;

}  // namespace torchdyn
