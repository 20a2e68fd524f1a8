#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/text.h"

namespace torchdyn {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

// Columns at which an instruction, its position and what is said of it begin.
constexpr size_t kInstruction = 6, kPosition = 40, kNote = 64;

void pad(std::string* line, size_t column) {
  if (line->size() < column) line->resize(column, ' ');
}

std::string number(int value) { return value < 0 ? "?" : str_cat(value); }

std::string print_position(const Position& p) {
  if (p == Position{}) return "";
  if (p == Position{p.line, p.line, -1, -1}) return str_cat(" @", p.line);
  return str_cat(" @", number(p.line), ":", number(p.column), "-", number(p.end_line), ":",
                 number(p.end_column));
}

class Printer {
 public:
  Printer(const Bytecode& code, const Annotate& annotate) : code_(code), annotate_(annotate) {
    aten_bridge::HashSet<const Instruction*> targets;
    for (const Instruction& i : code.instructions)
      if (i.target) targets.insert(i.target);
    for (const ExceptionHandler& handler : code.handlers) {
      targets.insert(handler.target);
      handlers_.emplace(&handler, static_cast<int>(handlers_.size()));
    }
    for (const Instruction& i : code.instructions)
      if (targets.contains(&i)) labels_.emplace(&i, static_cast<int>(labels_.size()));
  }

  std::string run() const {
    std::string text =
        str_cat("bytecode ", version_name(code_.version), " first_line ", code_.first_line, "\n");
    for (const ExceptionHandler& h : code_.handlers)
      str_append(&text, "handler H", handlers_.at(&h), " -> L", labels_.at(h.target), " depth ",
                 h.depth, h.keeps_index ? " index" : "", "\n");
    for (const Instruction& i : code_.instructions) str_append(&text, line(i), "\n");
    return text;
  }

 private:
  std::string line(const Instruction& i) const {
    const auto label = labels_.find(&i);
    std::string line = label == labels_.end() ? "" : str_cat("L", label->second, ":");
    pad(&line, kInstruction);
    str_append(&line, opcode_name(i.op));
    if (i.target) {
      str_append(&line, " L", labels_.at(i.target));
    } else if (i.arg != 0 || operand(i.op, code_.version) != Operand::kNothing) {
      str_append(&line, " ", i.arg);
    }
    if (i.least_prefixes != 0) str_append(&line, " +", i.least_prefixes);
    if (const std::string position = print_position(i.position); !position.empty()) {
      pad(&line, kPosition);
      line += position;
    }
    if (i.handler) str_append(&line, " !H", handlers_.at(i.handler));
    if (const std::string note = annotate_ ? annotate_(i) : ""; !note.empty()) {
      pad(&line, kNote);
      str_append(&line, " # ", note);
    }
    return line;
  }

  const Bytecode& code_;
  const Annotate& annotate_;
  aten_bridge::HashMap<const Instruction*, int> labels_;
  aten_bridge::HashMap<const ExceptionHandler*, int> handlers_;
};

}  // namespace

std::string print_bytecode(const Bytecode& code, const Annotate& annotate) {
  return Printer(code, annotate).run();
}

}  // namespace torchdyn
