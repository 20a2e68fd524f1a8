#include "torchdyn/capture/cut.h"

#include <algorithm>
#include <optional>

#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

// The same instruction with its target ahead: 3.11 has conditional jumps of both directions.
constexpr std::pair<Opcode, Opcode> kForward[] = {
    {Opcode::POP_JUMP_BACKWARD_IF_FALSE, Opcode::POP_JUMP_FORWARD_IF_FALSE},
    {Opcode::POP_JUMP_BACKWARD_IF_TRUE, Opcode::POP_JUMP_FORWARD_IF_TRUE},
    {Opcode::POP_JUMP_BACKWARD_IF_NONE, Opcode::POP_JUMP_FORWARD_IF_NONE},
    {Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE, Opcode::POP_JUMP_FORWARD_IF_NOT_NONE},
};

Opcode forward(Opcode op) {
  for (const auto& [backward, ahead] : kForward)
    if (backward == op) return ahead;
  return op;
}

// Calls take the NULLs below their arguments; other instructions leave those that there are.
bool is_call(Opcode op) {
  return op == Opcode::CALL || op == Opcode::CALL_KW || op == Opcode::CALL_FUNCTION_EX;
}

// An instruction that may leave a NULL where a call follows, as one that does not.
std::optional<Instruction> without_null(const Instruction& i) {
  Instruction plain = i;
  switch (i.op) {
    case Opcode::LOAD_METHOD:
      plain.op = Opcode::LOAD_ATTR;
      return plain;
    case Opcode::LOAD_ATTR:
      if (operand(i.op, running_version()) != Operand::kFlaggedName || (i.arg & 1) == 0)
        return std::nullopt;
      plain.arg &= ~1u;
      return plain;
    case Opcode::LOAD_GLOBAL:
    case Opcode::LOAD_SUPER_ATTR:
      if ((i.arg & 1) == 0) return std::nullopt;
      plain.arg &= ~1u;
      return plain;
    default:
      return std::nullopt;
  }
}

class Cut {
 public:
  Cut(const Gil& gil, const Translator& t, const CodeOrigin& origin)
      : gil_(gil),
        frame_(t.outermost()),
        origin_(origin),
        resumes_(*origin.resumes),
        instruction_(*frame_.at),
        w_(gil, frame_.code) {
    int index = 0;
    for (const Instruction& i : frame_.decoded->bytecode.instructions) index_[&i] = index++;
    here_ = own_index(instruction_);
    if (here_ < 0) break_graph(BreakReason::kRebuild, "what a resume function takes");
    collect_places();
  }

  // Slots of the function that was cut that some place needs.
  const std::vector<bool>& needed() const { return needed_; }

  PyRef write(const Translator& t, PyBorrow compiled, const std::vector<VarRef>& results) {
    w_.set_position(instruction_.position);
    if (compiled) w_.call_graph(t.graph(), compiled, results);
    if (const auto mode = t.changed_grad_mode()) w_.set_grad_mode(*mode);
    for (const VarRef& value : frame_.stack)
      if (value) w_.keep(value);
    for (size_t slot = 0; slot < needed_.size(); ++slot)
      if (needed_[slot] && local(slot)) w_.keep(local(slot));
    keep_touched();
    w_.fill();
    t.effects().write(w_);
    release_arguments();
    restore_touched();
    for (const VarRef& value : frame_.stack) {
      if (value) {
        w_.value(value);
      } else {
        w_.emit(Opcode::PUSH_NULL);
      }
    }
    write_instruction();
    return w_.finish();
  }

  // The slot's value before the instruction; null: what the frame was given, or nothing.
  VarRef local(size_t slot) const { return frame_.locals.at(frames_slot(slot)); }

 private:
  int own_index(const Instruction& i) const { return index_.at(&i) - origin_.prefix; }

  size_t frames_slot(size_t slot) const {
    return slot < static_cast<size_t>(resumes_.locals()) ? slot : slot + origin_.more_locals;
  }

  bool is_given(size_t slot) const {
    const size_t mine = frames_slot(slot);
    return !frame_.is_touched.at(mine) && mine < static_cast<size_t>(frame_.code.arguments());
  }

  bool is_bound(size_t slot) const { return local(slot) != nullptr || is_given(slot); }

  std::vector<bool> nulls() const {
    std::vector<bool> is_null;
    for (const VarRef& value : frame_.stack) is_null.push_back(value == nullptr);
    return is_null;
  }

  // ---- Where the instruction leads
  void need(int instruction) {
    const std::vector<bool> more = resumes_.needed_at(instruction);
    needed_.resize(more.size());
    for (size_t slot = 0; slot < more.size(); ++slot)
      if (more[slot]) needed_[slot] = true;
  }

  void collect_places() {
    needed_.resize(resumes_.locals() + resumes_.cells());
    if (falls_through()) need(here_ + 1);
    if (instruction_.target) need(after_end(own_index(*instruction_.target)));
    if (instruction_.handler) need(own_index(*instruction_.handler->target));
  }

  bool falls_through() const {
    return flow(instruction_.op) == Flow::kNext || flow(instruction_.op) == Flow::kBranch;
  }

  // A loop that ends goes on behind what drops its iterator.
  int after_end(int target) const {
    if (instruction_.op != Opcode::FOR_ITER || running_version() == PythonVersion::k3_11)
      return target;
    return target + (running_version() == PythonVersion::k3_12 ? 1 : 2);
  }

  // ---- Slots that the instruction itself reads or writes
  template <class Visit>
  void for_touched(Visit visit) const {
    const SlotAccess access = slot_access(instruction_.op);
    if (access == SlotAccess::kNone || access == SlotAccess::kWriteFree) return;
    const Operand kind = operand(instruction_.op, running_version());
    if (kind == Operand::kTwoLocals) {
      visit(instruction_.arg >> 4);
      visit(instruction_.arg & 15);
    } else {
      visit(instruction_.arg);
    }
  }

  bool is_free(uint32_t frames_slot) const {
    return static_cast<int>(frames_slot) >= frame_.code.slots() - frame_.code.free_slots();
  }

  void keep_touched() {
    for_touched([&](uint32_t slot) {
      if (!is_free(slot) && frame_.locals.at(slot)) w_.keep(frame_.locals.at(slot));
    });
  }

  // Arguments that the frame has let go, or given another value, do not live on in their slots.
  void release_arguments() {
    for (int slot = 0; slot < frame_.code.arguments(); ++slot) {
      const VarRef& value = frame_.locals.at(slot);
      const bool is_still_there = value && value->source() &&
                                  value->source()->kind() == Source::Kind::kLocal &&
                                  value->source()->slot() == slot;
      if (!frame_.is_touched.at(slot) || is_still_there) continue;
      w_.constant(PyBorrow(Py_None));
      w_.emit_slot(Opcode::STORE_FAST, slot);
    }
  }

  void restore_touched() {
    for_touched([&](uint32_t slot) {
      if (is_free(slot)) return;
      if (const VarRef& value = frame_.locals.at(slot)) {
        w_.value(value);
        w_.emit_slot(Opcode::STORE_FAST, static_cast<int>(slot));
      } else if (frame_.is_touched.at(slot) && static_cast<int>(slot) < frame_.code.arguments()) {
        w_.emit_slot(Opcode::DELETE_FAST, static_cast<int>(slot));
      }
    });
  }

  // ---- The instruction and what comes after it
  Instruction& copy(const Instruction& i) {
    const bool has_slot = operand(i.op, running_version()) == Operand::kCell;
    Instruction& made =
        has_slot ? w_.emit_slot(i.op, static_cast<int>(i.arg)) : w_.emit(i.op, i.arg);
    made.position = i.position;
    return made;
  }

  // Those before a call that CPython reads together with it.
  void write_head() {
    auto first = frame_.decoded->places.at(&instruction_);
    const auto begin = frame_.decoded->bytecode.instructions.begin();
    const auto belongs = [](Opcode op) { return op == Opcode::KW_NAMES || op == Opcode::PRECALL; };
    while (is_call(instruction_.op) && first != begin && belongs(std::prev(first)->op)) --first;
    for (; &*first != &instruction_; ++first) copy(*first);
  }

  void write_instruction() {
    write_head();
    const int height = static_cast<int>(frame_.stack.size());
    const auto arg = static_cast<int>(instruction_.arg);
    const auto plain = without_null(instruction_);
    Instruction& made = copy(plain ? *plain : instruction_);
    made.op = forward(made.op);
    const ExceptionHandler* const was = instruction_.handler;
    const ExceptionHandler* const handler =
        was ? w_.handler(was->depth, was->keeps_index) : nullptr;
    made.handler = handler;

    std::vector<bool> before = nulls();
    const auto stack_after = [&](bool jumped) {
      const int now = height + stack_effect(instruction_.op, running_version(), arg, jumped);
      std::vector<bool> is_null = before;
      is_null.resize(now);
      if (is_call(instruction_.op)) is_null.back() = false;
      return is_null;
    };
    if (plain) {
      go_on_after_load(*plain, height);
    } else if (falls_through()) {
      go_on(here_ + 1, stack_after(false));
    }
    if (instruction_.target) {
      std::vector<bool> is_null = stack_after(true);
      const int target = own_index(*instruction_.target);
      if (after_end(target) == target) {
        w_.place(made);
      } else {  // FOR_ITER itself skips what it jumps to
        for (int i = target; i < after_end(target); ++i) {
          Instruction& end = copy(resumes_.instruction(i));
          if (i == target) made.target = &end;
        }
        is_null.resize(height - 1);
      }
      go_on(after_end(target), is_null);
    }
    if (handler) {
      w_.place(handler);
      before.resize(was->depth);
      before.resize(was->depth + (was->keeps_index ? 2 : 1));
      go_on(own_index(*was->target), before);
    }
  }

  // The instruction was to leave NULL as well.
  void go_on_after_load(const Instruction& plain, int height) {
    const auto arg = static_cast<int>(plain.arg);
    std::vector<bool> is_null = nulls();
    is_null.resize(height + stack_effect(plain.op, running_version(), arg, false));
    w_.emit(Opcode::PUSH_NULL);
    const bool null_first = running_version() < PythonVersion::k3_13;
    if (null_first) w_.emit(Opcode::SWAP, 2);
    is_null.push_back(!null_first);
    if (null_first) is_null[is_null.size() - 2] = true;
    go_on(here_ + 1, is_null);
  }

  // Ends the frame: what is on the stack and in slots goes to a resume function.
  void go_on(int instruction, const std::vector<bool>& is_null) {
    std::vector<int> stacked;
    for (size_t n = 0; n < is_null.size(); ++n) {
      stacked.push_back(w_.temporary());
      w_.store_temporary(stacked.back());
    }
    std::reverse(stacked.begin(), stacked.end());
    ResumePoint point{.instruction = instruction, .is_bound = {}, .is_null = is_null};
    const std::vector<bool> needed = resumes_.needed_at(instruction);
    for (size_t slot = 0; slot < needed.size(); ++slot)
      point.is_bound.push_back(needed[slot] && is_bound(slot));

    w_.constant(continuation_mark(gil_));
    w_.constant(origin_.is_resumed ? PyRef::to(PyBorrow(Py_None)) : points());
    w_.constant(owned(PyLong_FromLong(resumes_.point(gil_, point))));
    uint32_t count = 3;
    for (size_t slot = 0; slot < needed.size(); ++slot, ++count) {
      if (!point.is_bound[slot]) {
        w_.constant(PyBorrow(Py_None));
      } else if (const VarRef value = local(slot)) {
        w_.value(value);
      } else {
        w_.emit_slot(Opcode::LOAD_FAST, static_cast<int>(frames_slot(slot)));
      }
    }
    for (size_t n = 0; n < is_null.size(); ++n) {
      if (is_null[n]) continue;
      w_.load_temporary(stacked[n]);
      ++count;
    }
    w_.emit(Opcode::BUILD_TUPLE, count);
    w_.emit(Opcode::RETURN_VALUE);
  }

  PyRef points() {
    if (!points_) points_ = points_object(gil_, origin_.resumes);
    return PyRef::to(points_);
  }

  const Gil& gil_;
  const Activation& frame_;
  const CodeOrigin& origin_;
  Resumes& resumes_;
  const Instruction& instruction_;
  CodeWriter w_;
  aten_bridge::HashMap<const Instruction*, int> index_;
  int here_ = 0;
  std::vector<bool> needed_;
  PyRef points_;
};

}  // namespace

std::vector<VarRef> needed_values(const Gil& gil, const Translator& t, const CodeOrigin& origin) {
  const Cut cut(gil, t, origin);
  std::vector<VarRef> values;
  for (const VarRef& value : t.outermost().stack)
    if (value) values.push_back(value);
  for (size_t slot = 0; slot < cut.needed().size(); ++slot)
    if (const VarRef value = cut.needed()[slot] ? cut.local(slot) : nullptr)
      values.push_back(value);
  return values;
}

PyRef cut_code(const Gil& gil, const Translator& t, PyBorrow compiled,
               const std::vector<VarRef>& results, const CodeOrigin& origin) {
  return Cut(gil, t, origin).write(t, compiled, results);
}

}  // namespace torchdyn
