// From instructions to a code object's bytes.
//   absl::StatusOr<Assembled> made = assemble(code);
//   made->bytes.code, made->stack_size
//
// What disassemble() made comes back byte by byte.
#pragma once

#include "absl/status/statusor.h"

#include "torchdyn/bytecode/code_bytes.h"
#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

struct Assembled {
  CodeBytes bytes;
  int stack_size;
};

// Arguments get as few EXTENDED_ARGs as hold them, and least_prefixes. An error where the version
// lacks an opcode, a jump goes the other way than its opcode, or stack_size() finds one.
absl::StatusOr<Assembled> assemble(const Bytecode& code);

}  // namespace torchdyn
