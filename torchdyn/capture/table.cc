// Every opcode's handler, from the families, or its gap.
#include <array>

#include "torchdyn/capture/gaps.h"
#include "torchdyn/capture/translator.h"

namespace torchdyn {
namespace {

constexpr OpcodeGap kGaps[] = {
#define OPCODE_GAP(op, reason) {Opcode::op, BreakReason::reason},
#include "torchdyn/capture/gaps.def"
#undef OPCODE_GAP
};

std::array<Handler, kOpcodes> handlers() {
  std::array<Handler, kOpcodes> table{};
  for (const auto& rows : {kStackOps, kNameOps, kOperatorOps, kCallOps, kJumpOps, kFunctionOps,
                           kIterationOps, kContainerOps, kFormattingOps, kImportOps, kBlockOps,
                           kExceptionOps, kMatchingOps, kIntrinsicOps})
    for (const OpcodeRow& row : rows) table[static_cast<int>(row.op)] = row.handler;
  return table;
}

const OpcodeGap* gap_row(Opcode op) {
  for (const OpcodeGap& gap : kGaps)
    if (gap.op == op) return &gap;
  return nullptr;
}

}  // namespace

Handler handler_of(Opcode op) {
  static const std::array<Handler, kOpcodes> kTable = handlers();
  return kTable[static_cast<int>(op)];
}

bool is_gap(Opcode op) { return gap_row(op) != nullptr; }

BreakReason gap_of(Opcode op) {
  const OpcodeGap* gap = gap_row(op);
  return gap ? gap->reason : BreakReason::kOpcode;
}

}  // namespace torchdyn
