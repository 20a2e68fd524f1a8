#include "torchdyn/bytecode/disassemble.h"

#include <vector>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/exception_table.h"
#include "torchdyn/bytecode/line_table.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

absl::Status invalid(std::string message) {
  return absl::InvalidArgumentError(aten_bridge::to_absl(message));
}

class Disassembler {
 public:
  explicit Disassembler(const CodeBytes& bytes)
      : bytes_(bytes),
        units_(static_cast<int>(bytes.code.size() / 2)),
        starts_(units_, nullptr),
        code_(bytes.version, bytes.first_line) {}

  absl::StatusOr<Bytecode> run() {
    for (const auto step : {&Disassembler::read_instructions, &Disassembler::resolve_jumps,
                            &Disassembler::read_handlers})
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    return std::move(code_);
  }

 private:
  struct Jump {
    Instruction* instruction;
    int target;
  };

  int byte(int index) const { return static_cast<unsigned char>(bytes_.code[index]); }

  absl::Status read_instructions() {
    auto positions = decode_line_table(bytes_.line_table, bytes_.first_line, units_);
    if (!positions.ok()) return positions.status();
    uint32_t prefix = 0;  // what the EXTENDED_ARGs before an instruction hold
    int start = 0;        // of the instruction with its prefixes
    for (int unit = 0; unit < units_;) {
      const auto op = opcode_numbered(bytes_.version, byte(2 * unit));
      if (!op || *op == Opcode::CACHE)
        return invalid(str_cat("opcode ", byte(2 * unit), " at unit ", unit, " is none of CPython ",
                               version_name(bytes_.version)));
      const uint32_t arg = prefix << 8 | byte(2 * unit + 1);
      const int end = unit + 1 + cache_units(*op, bytes_.version);
      if (*op == Opcode::EXTENDED_ARG) {
        prefix = arg;
      } else {
        starts_[start] = add_instruction(*op, arg, end, (*positions)[unit]);
        starts_[start]->least_prefixes = superfluous(*op, arg, unit - start);
        prefix = 0;
        start = end;
      }
      unit = end;
    }
    return start == units_ ? absl::OkStatus() : invalid("the code ends within an instruction");
  }

  // The prefixes, if fewer would do; a jump back is over its own prefixes too.
  uint8_t superfluous(Opcode op, uint32_t arg, int prefixes) const {
    const bool backward = operand(op, bytes_.version) == Operand::kBackward;
    const int needed = prefixes_for(backward && prefixes > 0 ? arg - 1 : arg);
    return static_cast<uint8_t>(needed < prefixes ? prefixes : 0);
  }

  Instruction* add_instruction(Opcode op, uint32_t arg, int end, const Position& position) {
    Instruction& added =
        code_.instructions.emplace_back(Instruction{.op = op, .arg = arg, .position = position});
    if (is_jump(op)) {
      const int distance = static_cast<int>(std::exchange(added.arg, 0));
      const bool backward = operand(op, bytes_.version) == Operand::kBackward;
      jumps_.push_back({&added, backward ? end - distance : end + distance});
    }
    return &added;
  }

  Instruction* starting_at(int unit) const {
    return unit >= 0 && unit < units_ ? starts_[unit] : nullptr;
  }

  absl::Status resolve_jumps() {
    for (const Jump& jump : jumps_) {
      jump.instruction->target = starting_at(jump.target);
      if (!jump.instruction->target)
        return invalid(str_cat(opcode_name(jump.instruction->op), " jumps to unit ", jump.target,
                               ", where no instruction begins"));
    }
    return absl::OkStatus();
  }

  absl::Status read_handlers() {
    auto rows = decode_exception_table(bytes_.exception_table);
    if (!rows.ok()) return rows.status();
    for (const ExceptionRow& row : *rows) {
      Instruction* target = starting_at(row.target);
      if (!target || row.end > units_)
        return invalid(str_cat("a handler at unit ", row.target, ", where no instruction begins"));
      code_.handlers.push_back({target, row.depth, row.keeps_index});
      for (int unit = row.start; unit < row.end; ++unit)
        if (starts_[unit]) starts_[unit]->handler = &code_.handlers.back();
    }
    return absl::OkStatus();
  }

  const CodeBytes& bytes_;
  const int units_;
  std::vector<Instruction*> starts_;  // by code unit: the instruction whose first one it is
  std::vector<Jump> jumps_;
  Bytecode code_;
};

}  // namespace

absl::StatusOr<Bytecode> disassemble(const CodeBytes& bytes) { return Disassembler(bytes).run(); }

}  // namespace torchdyn
