#include "torchdyn/capture/resume.h"

#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/assemble.h"
#include "torchdyn/bytecode/disassemble.h"
#include "torchdyn/cpython/objects.h"

namespace torchdyn {
namespace {

Bytecode bytecode_of(const CodeParts& parts) {
  auto bytecode = disassemble(parts.bytes);
  TD_CHECK(bytecode.ok(), bytecode.status().message());
  return std::move(*bytecode);
}

std::vector<const Instruction*> in_order(const Bytecode& bytecode) {
  std::vector<const Instruction*> order;
  for (const Instruction& i : bytecode.instructions) order.push_back(&i);
  return order;
}

int values_on(const std::vector<bool>& is_null) {
  return static_cast<int>(std::count(is_null.begin(), is_null.end(), false));
}

// The instructions before the function's own, without the jump to these.
class Prefix {
 public:
  Prefix(Bytecode* code, Position position)
      : code_(code), place_(code->instructions.begin()), position_(position) {}

  void emit(Opcode op, int arg = 0, Instruction* target = nullptr) {
    ++count_;
    code_->instructions.insert(
        place_,
        {.op = op, .arg = static_cast<uint32_t>(arg), .target = target, .position = position_});
  }
  int count() const { return count_; }

 private:
  Bytecode* code_;
  std::list<Instruction>::iterator place_;
  Position position_;
  int count_ = 0;
};

}  // namespace

Resumes::Resumes(const Gil& gil, CodeView function)
    : parts_(take_apart(gil, function)),
      bytecode_(bytecode_of(parts_)),
      order_(in_order(bytecode_)),
      liveness_(bytecode_, {.slots = function.slots(), .free = function.free_slots()}),
      locals_(static_cast<int>(PyTuple_GET_SIZE(parts_.locals.get()))),
      cells_(function.slots() - function.free_slots() - locals_) {}

std::vector<bool> Resumes::needed_at(int instruction) const {
  std::vector<bool> needed(locals_ + cells_);
  for (const int slot : liveness_.before(*order_.at(instruction)))
    if (slot < locals_ + cells_) needed[slot] = true;
  return needed;
}

int Resumes::point(const Gil& gil, const ResumePoint& point) {
  const auto known = std::find_if(made_.begin(), made_.end(),
                                  [&](const Made& made) { return made.point == point; });
  if (known != made_.end()) return static_cast<int>(known - made_.begin());
  codes.push_back(make(gil, point));
  return static_cast<int>(made_.size()) - 1;
}

PyRef Resumes::make(const Gil& gil, const ResumePoint& point) {
  const int stacked = values_on(point.is_null), more = cells_ + stacked;
  Bytecode code = bytecode_of(parts_);
  for (Instruction& i : code.instructions)
    if (operand(i.op, code.version) == Operand::kCell && static_cast<int>(i.arg) >= locals_)
      i.arg += more;
  const auto target = std::next(code.instructions.begin(), point.instruction);

  Prefix prefix(&code, target->position);
  const int free = static_cast<int>(PyTuple_GET_SIZE(parts_.free.get()));
  if (free > 0) prefix.emit(Opcode::COPY_FREE_VARS, free);
  prefix.emit(Opcode::RESUME);
  const std::vector<bool> needed = needed_at(point.instruction);
  for (int slot = 0; slot < locals_; ++slot)
    if (needed[slot] && !point.is_bound[slot]) prefix.emit(Opcode::DELETE_FAST, slot);
  for (int cell = 0; cell < cells_; ++cell) {
    if (!point.is_bound[locals_ + cell]) continue;
    prefix.emit(Opcode::LOAD_FAST, locals_ + cell);
    prefix.emit(Opcode::STORE_FAST, locals_ + more + cell);
  }
  int next = locals_ + cells_;
  for (const bool is_null : point.is_null) {
    prefix.emit(is_null ? Opcode::PUSH_NULL : Opcode::LOAD_FAST, is_null ? 0 : next);
    if (!is_null) prefix.emit(Opcode::DELETE_FAST, next++);
  }
  prefix.emit(Opcode::JUMP_FORWARD, 0, &*target);
  made_.push_back({point, prefix.count(), more});

  auto assembled = assemble(code);
  TD_CHECK(assembled.ok(), assembled.status().message());
  CodeParts made{.bytes = std::move(assembled->bytes),
                 .stack_size = assembled->stack_size,
                 .arguments = locals_ + more,
                 .positional_only = 0,
                 .keyword_only = 0,
                 .flags = parts_.flags & ~(CO_VARARGS | CO_VARKEYWORDS),
                 .constants = PyRef::to(parts_.constants),
                 .names = PyRef::to(parts_.names),
                 .locals = PyRef(),
                 .cells = PyRef::to(parts_.cells),
                 .free = PyRef::to(parts_.free),
                 .file_name = PyRef::to(parts_.file_name),
                 .name = PyRef::to(parts_.name),
                 .qualified_name = PyRef::to(parts_.qualified_name)};
  std::vector<PyRef> locals;
  for (const PyBorrow local : items_of(parts_.locals)) locals.push_back(PyRef::to(local));
  for (int n = 0; n < more; ++n) locals.push_back(name(aten_bridge::str_cat("resumed ", n)));
  made.locals = tuple_of(locals);
  return make_code(gil, made);
}

}  // namespace torchdyn
