#include "torchdyn/bytecode/assemble.h"

#include <algorithm>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/exception_table.h"
#include "torchdyn/bytecode/line_table.h"
#include "torchdyn/bytecode/stack_size.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

class Assembler {
 public:
  explicit Assembler(const Bytecode& code) : code_(code) {
    placed_.reserve(code.instructions.size());
    for (const Instruction& instruction : code.instructions) {
      index_[&instruction] = static_cast<int>(placed_.size());
      placed_.push_back({&instruction, 0, instruction.arg, prefixes(instruction, instruction.arg)});
    }
  }

  absl::StatusOr<Assembled> run() {
    const auto depth = stack_size(code_);
    if (!depth.ok()) return depth.status();
    do place();
    while (widen_jumps());
    if (absl::Status status = write(); !status.ok()) return status;
    CodeBytes bytes{code_.version, std::move(bytes_), exception_table(), {}, code_.first_line};
    bytes.line_table = lines_.finish();
    return Assembled{std::move(bytes), *depth};
  }

 private:
  struct Placed {
    const Instruction* instruction;
    int start;  // code unit of the first prefix
    uint32_t arg;
    int prefixes;
  };

  static int prefixes(const Instruction& instruction, uint32_t arg) {
    return std::max<int>(prefixes_for(arg), instruction.least_prefixes);
  }

  int units(const Placed& p) const {
    return p.prefixes + 1 + cache_units(p.instruction->op, code_.version);
  }

  const Placed& placed(const Instruction* instruction) const {
    return placed_[index_.at(instruction)];
  }

  void place() {
    int unit = 0;
    for (Placed& p : placed_) {
      p.start = unit;
      unit += units(p);
    }
    end_ = unit;
  }

  // Whether a jump needs more prefixes, so that all must be placed again. Prefixes are never taken
  // back, hence this ends.
  bool widen_jumps() {
    bool widened = false;
    for (Placed& p : placed_) {
      if (!p.instruction->target) continue;
      p.arg = std::abs(placed(p.instruction->target).start - (p.start + units(p)));
      const int needed = prefixes(*p.instruction, p.arg);
      widened |= needed > p.prefixes;
      p.prefixes = std::max(p.prefixes, needed);
    }
    return widened;
  }

  absl::Status check(const Placed& p) const {
    const Opcode op = p.instruction->op;
    const auto lacks = [&](std::string_view what) {
      return absl::InvalidArgumentError(
          str_cat(opcode_name(op), " of CPython ", version_name(code_.version), ": ", what));
    };
    if (!opcode_number(op, code_.version)) return lacks("there is no such opcode");
    if (is_jump(op) != (p.instruction->target != nullptr))
      return lacks(is_jump(op) ? "a jump without a target" : "a target, and it is no jump");
    if (!is_jump(op)) return absl::OkStatus();
    const bool backward = placed(p.instruction->target).start < p.start + units(p);
    if (backward != (operand(op, code_.version) == Operand::kBackward))
      return lacks("the target lies in the other direction");
    return absl::OkStatus();
  }

  void write_unit(Opcode op, uint32_t arg) {
    bytes_.push_back(static_cast<char>(*opcode_number(op, code_.version)));
    bytes_.push_back(static_cast<char>(arg & 255));
  }

  absl::Status write() {
    for (const Placed& p : placed_) {
      if (absl::Status status = check(p); !status.ok()) return status;
      for (int i = p.prefixes; i > 0; --i) write_unit(Opcode::EXTENDED_ARG, p.arg >> (8 * i));
      write_unit(p.instruction->op, p.arg);
      bytes_.resize(2 * (p.start + units(p)), 0);  // CACHE is 0 in all versions
      lines_.add(p.instruction->position, units(p));
    }
    return absl::OkStatus();
  }

  std::string exception_table() const {
    std::vector<ExceptionRow> rows;
    const ExceptionHandler* open = nullptr;
    for (const Placed& p : placed_) {
      if (p.instruction->handler == open) continue;
      if (open) rows.back().end = p.start;
      open = p.instruction->handler;
      if (open)
        rows.push_back({p.start, end_, placed(open->target).start, open->depth, open->keeps_index});
    }
    return encode_exception_table(rows);
  }

  const Bytecode& code_;
  std::vector<Placed> placed_;
  aten_bridge::HashMap<const Instruction*, int> index_;
  int end_ = 0;
  std::string bytes_;
  LineTableWriter lines_{code_.version, code_.first_line};
};

}  // namespace

absl::StatusOr<Assembled> assemble(const Bytecode& code) { return Assembler(code).run(); }

}  // namespace torchdyn
