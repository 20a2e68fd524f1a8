// The stack, constants and returning.
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

void nothing(Translator&, const Instruction&) {}

void pop_top(Translator& t, const Instruction&) { t.pop(); }

void push_null(Translator& t, const Instruction&) { t.push(nullptr); }

void copy(Translator& t, const Instruction& i) { t.push(t.at_depth(i.arg)); }

void swap(Translator& t, const Instruction& i) { std::swap(t.at_depth(1), t.at_depth(i.arg)); }

void load_constant(Translator& t, const Instruction& i) {
  t.push(std::make_shared<ConstantVariable>(PyRef::to(t.constant_of(i))));
}

void return_value(Translator& t, const Instruction&) { t.finish(t.pop()); }

void return_constant(Translator& t, const Instruction& i) {
  load_constant(t, i);
  return_value(t, i);
}

constexpr OpcodeRow kRows[] = {
    {Opcode::RESUME, nothing},
    {Opcode::NOP, nothing},
    {Opcode::POP_TOP, pop_top},
    {Opcode::PUSH_NULL, push_null},
    {Opcode::COPY, copy},
    {Opcode::SWAP, swap},
    {Opcode::LOAD_CONST, load_constant},
    {Opcode::RETURN_VALUE, return_value},
    {Opcode::RETURN_CONST, return_constant},
};

}  // namespace

const std::span<const OpcodeRow> kStackOps = kRows;

}  // namespace torchdyn
