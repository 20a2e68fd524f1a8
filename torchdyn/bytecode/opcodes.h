// What is known of each opcode, from opcodes.def. An opcode that a version lacks exists in the enum
// all the same, so that code for all versions is compiled once.
//   opcode_numbered(PythonVersion::k3_13, 85)                   // Opcode::LOAD_FAST
//   stack_effect(Opcode::CALL, PythonVersion::k3_12, 2, false)  // -3
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "torchdyn/bytecode/version.h"

namespace torchdyn {

enum class Opcode : uint8_t {
#define OPCODE(name, ...) name,
#include "torchdyn/bytecode/opcodes.def"
#undef OPCODE
};

constexpr int kOpcodes = 0
#define OPCODE(...) +1
#include "torchdyn/bytecode/opcodes.def"
#undef OPCODE
    ;

enum class Operand : uint8_t {
  kNothing,
  kNumber,
  kConstant,          // an index into co_consts
  kName,              // an index into co_names
  kFlaggedName,       // the index, shifted left by one; below it a flag
  kTwiceFlaggedName,  // the index, shifted left by two
  kLocal,             // a slot of the frame
  kTwoLocals,         // two slots, four bits each
  kCell,              // a slot that holds a cell
  kForward,           // a jump to a later instruction
  kBackward,
};

enum class Flow : uint8_t { kNext, kBranch, kJump, kLeave };

enum class SlotAccess : uint8_t {
  kNone,
  kRead,
  kWrite,
  kReadWrite,  // what is read is needed; what is there afterwards is new, or nothing
  kReadRead,   // of two slots, in this order
  kWriteRead,
  kWriteWrite,
  kWriteFree,  // all free variables
};

// In each version an opcode of CACHE's number is a code unit that the interpreter writes to.
std::string_view opcode_name(Opcode op);
std::optional<Opcode> opcode_named(std::string_view name);
std::optional<Opcode> opcode_numbered(PythonVersion version, int number);
std::optional<int> opcode_number(Opcode op, PythonVersion version);  // none: the version lacks it
int cache_units(Opcode op, PythonVersion version);

Operand operand(Opcode op, PythonVersion version);
Flow flow(Opcode op);
SlotAccess slot_access(Opcode op);
bool is_jump(Opcode op);
// The index into co_names that an argument of a name holds.
int name_index(Operand operand, int arg);

// What CPython's dis.stack_effect says, except that RETURN_GENERATOR pushes in all versions: the
// value that the first resumption pops.
int stack_effect(Opcode op, PythonVersion version, int arg, bool jump);

}  // namespace torchdyn
