#include "torchdyn/bytecode/adjacent.h"

#include <iterator>
#include <optional>

namespace torchdyn {
namespace {

struct Pair {
  Opcode first;
  std::optional<Opcode> second;  // none: whatever follows
  const char* why;
};

constexpr Pair kPairs[] = {
    {Opcode::KW_NAMES, Opcode::PRECALL, "the names are kept for the next call, whichever it is"},
    {Opcode::KW_NAMES, Opcode::CALL, "the names are kept for the next call, whichever it is"},
    {Opcode::PRECALL, Opcode::CALL, "a specialised PRECALL does the call and skips CALL"},
    {Opcode::SEND, Opcode::YIELD_VALUE, "throw() finds SEND right before where the frame stands"},
    {Opcode::YIELD_VALUE, Opcode::RESUME, "a generator's delegate is known by RESUME's argument"},
    {Opcode::JUMP_BACKWARD_NO_INTERRUPT, std::nullopt,
     "throw() into a delegate that has ended goes on behind this jump, with its handler"},
    {Opcode::END_FOR, Opcode::POP_TOP, "a specialised FOR_ITER skips both"},
};

}  // namespace

bool may_insert(const Bytecode& code, std::list<Instruction>::const_iterator place) {
  if (place == code.instructions.begin() || place == code.instructions.end()) return true;
  const Opcode first = std::prev(place)->op;
  for (const Pair& pair : kPairs)
    if (first == pair.first && place->op == pair.second.value_or(place->op)) return false;
  return true;
}

}  // namespace torchdyn
