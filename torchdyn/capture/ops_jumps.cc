// Truth, identity, and jumps that they decide, taken or not while the frame is captured.
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

void to_bool(Translator& t, const Instruction&) {
  const VarRef value = t.pop();
  t.push(boolean(protocol::truth(t, value)));
}

void unary_not(Translator& t, const Instruction&) {
  const VarRef value = t.pop();
  t.push(boolean(!protocol::truth(t, value)));
}

// CPython: Python/bytecodes.c, IS_OP. The argument is 1 for "is not".
void is(Translator& t, const Instruction& i) {
  const VarRef right = t.pop(), left = t.pop();
  t.push(boolean(protocol::is_same(t, left, right) != (i.arg == 1)));
}

void jump(Translator& t, const Instruction& i) { t.jump(*i.target); }

template <bool expected>
void pop_jump_if(Translator& t, const Instruction& i) {
  const VarRef value = t.pop();
  if (protocol::truth(t, value) == expected) t.jump(*i.target);
}

template <bool expected>
void pop_jump_if_none(Translator& t, const Instruction& i) {
  const VarRef value = t.pop();
  if (protocol::is_none(t, value) == expected) t.jump(*i.target);
}

template <bool expected>
void jump_if_or_pop(Translator& t, const Instruction& i) {
  if (protocol::truth(t, t.at_depth(1)) == expected) {
    t.jump(*i.target);
  } else {
    t.pop();
  }
}

constexpr OpcodeRow kRows[] = {
    {Opcode::TO_BOOL, to_bool},
    {Opcode::UNARY_NOT, unary_not},
    {Opcode::IS_OP, is},
    {Opcode::JUMP_FORWARD, jump},
    {Opcode::JUMP_BACKWARD, jump},
    {Opcode::JUMP_BACKWARD_NO_INTERRUPT, jump},
    {Opcode::POP_JUMP_IF_FALSE, pop_jump_if<false>},
    {Opcode::POP_JUMP_IF_TRUE, pop_jump_if<true>},
    {Opcode::POP_JUMP_IF_NONE, pop_jump_if_none<true>},
    {Opcode::POP_JUMP_IF_NOT_NONE, pop_jump_if_none<false>},
    {Opcode::POP_JUMP_FORWARD_IF_FALSE, pop_jump_if<false>},
    {Opcode::POP_JUMP_FORWARD_IF_TRUE, pop_jump_if<true>},
    {Opcode::POP_JUMP_FORWARD_IF_NONE, pop_jump_if_none<true>},
    {Opcode::POP_JUMP_FORWARD_IF_NOT_NONE, pop_jump_if_none<false>},
    {Opcode::POP_JUMP_BACKWARD_IF_FALSE, pop_jump_if<false>},
    {Opcode::POP_JUMP_BACKWARD_IF_TRUE, pop_jump_if<true>},
    {Opcode::POP_JUMP_BACKWARD_IF_NONE, pop_jump_if_none<true>},
    {Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE, pop_jump_if_none<false>},
    {Opcode::JUMP_IF_FALSE_OR_POP, jump_if_or_pop<false>},
    {Opcode::JUMP_IF_TRUE_OR_POP, jump_if_or_pop<true>},
};

}  // namespace

const std::span<const OpcodeRow> kJumpOps = kRows;

}  // namespace torchdyn
