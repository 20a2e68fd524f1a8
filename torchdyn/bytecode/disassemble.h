// From a code object's bytes to instructions.
//   absl::StatusOr<Bytecode> code = disassemble(bytes);
#pragma once

#include "absl/status/statusor.h"

#include "torchdyn/bytecode/code_bytes.h"
#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// An error where the bytes are not what a compiler of that version makes: an unknown opcode, a jump
// between instructions, a table without an end.
absl::StatusOr<Bytecode> disassemble(const CodeBytes& bytes);

}  // namespace torchdyn
