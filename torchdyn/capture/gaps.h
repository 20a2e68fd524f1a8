// Why an opcode has no handler: gaps.def.
#pragma once

#include <optional>

#include "torchdyn/bytecode/opcodes.h"
#include "torchdyn/capture/graph_break.h"

namespace torchdyn {

struct OpcodeGap {
  Opcode op;
  BreakReason reason;
};

BreakReason gap_of(Opcode op);
// Whether gaps.def has a row; each opcode has one or a handler.
bool is_gap(Opcode op);

}  // namespace torchdyn
