// Bytecode to look at and to change.
//   Bytecode code = *disassemble(bytes);
//   auto load = code.instructions.begin();
//   code.instructions.insert(load, {Opcode::NOP});
//   Assembled changed = *assemble(code);
//
// Law
//  - Jumps and handlers name instructions, not offsets: instructions may be inserted anywhere that
//    may_insert (adjacent.h) allows, and keep their address until they are erased.
//  - EXTENDED_ARG and CACHE are never instructions; arguments have up to 32 bits.
//  - A jump's argument is its target; `arg` is 0.
//  - An instruction's handler is where an exception goes that it raises. Neighbours with one
//  handler
//    make one row of the exception table; the order of `handlers` means nothing.
//  - Targets, of jumps and of handlers, are instructions of the same Bytecode.
#pragma once

#include <cstdint>
#include <list>

#include "torchdyn/bytecode/opcodes.h"

namespace torchdyn {

// Where in the source: lines from 1, columns from 0 in bytes of UTF-8; -1 where it is not known.
struct Position {
  int line = -1, end_line = -1, column = -1, end_column = -1;

  friend bool operator==(const Position&, const Position&) = default;
};

// EXTENDED_ARGs that hold what an instruction's own eight bits do not.
constexpr int prefixes_for(uint32_t arg) {
  return arg > 0xffffff ? 3 : arg > 0xffff ? 2 : arg > 0xff ? 1 : 0;
}

struct ExceptionHandler;

struct Instruction {
  Opcode op;
  uint32_t arg = 0;
  Instruction* target = nullptr;
  const ExceptionHandler* handler = nullptr;
  Position position = {};
  // EXTENDED_ARGs at least, where CPython's assembler put more than needed: it takes none back when
  // a jump has become shorter.
  uint8_t least_prefixes = 0;
};

// The stack is cut to `depth` values; then come the instruction's index, if `keeps_index`, and the
// exception.
struct ExceptionHandler {
  Instruction* target;
  int depth;
  bool keeps_index;
};

struct Bytecode {
  PythonVersion version;
  int first_line = 0;
  std::list<Instruction> instructions = {};
  std::list<ExceptionHandler> handlers = {};

  Bytecode(PythonVersion version, int first_line) : version(version), first_line(first_line) {}
  Bytecode(Bytecode&&) = default;  // lists keep addresses when they are moved
  Bytecode& operator=(Bytecode&&) = default;
};

}  // namespace torchdyn
