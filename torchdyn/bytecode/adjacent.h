// Where instructions may be put between others.
//   if (may_insert(code, place)) code.instructions.insert(place, {Opcode::NOP});
#pragma once

#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// Whether instructions may be put before `place` without a pair being torn apart of which CPython
// reads the second through the first, or leaves state of its own from one to the other. What jumps
// to `place` still does.
bool may_insert(const Bytecode& code, std::list<Instruction>::const_iterator place);

}  // namespace torchdyn
