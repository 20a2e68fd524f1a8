// Runs a frame's instructions on what is known of its values.
//   Translator t(gil, frame);
//   VarRef result = t.run();         // throws GraphBreak
//   t.graph(), t.guards()            // what it computes, and what must hold for that
//
// One row a handled opcode (ops_*.cc), one row an opcode that is not (gaps.def).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "torchdyn/bytecode/instruction.h"
#include "torchdyn/capture/output_graph.h"
#include "torchdyn/guards/guard.h"
#include "torchdyn/variables/variable.h"

namespace torchdyn {

class Translator;
using Handler = void (*)(Translator&, const Instruction&);

struct OpcodeRow {
  Opcode op;
  Handler handler;
};

class Translator {
 public:
  Translator(const Gil& gil, const FrameView& frame);

  // What the frame returns.
  VarRef run();
  // Where the last instruction stands in the source.
  int line() const { return line_; }

  // ---- For handlers and variables ----
  const Gil& gil() const { return gil_; }
  OutputGraph& graph() { return graph_; }
  Guards& guards() { return guards_; }
  // That an object from outside is still that one, or one of that type; what the frame made needs
  // none.
  void guard_identity(const Variable& value);
  void guard_type(const Variable& value);
  const FrameView& frame() const { return frame_; }
  PythonVersion version() const { return code_.version; }

  void push(VarRef value) { stack_.push_back(std::move(value)); }
  VarRef pop();
  std::vector<VarRef> pop(size_t count);  // the deepest first
  VarRef& at_depth(size_t depth);         // 1: the top

  // A local variable; an argument becomes one when it is first used. Breaks where it is unbound.
  VarRef load(uint32_t slot);
  void store(uint32_t slot, VarRef value);  // null: unbound from now on
  std::string name_of(const Instruction& i) const;
  PyBorrow constant_of(const Instruction& i) const;

  // A tensor that the frame finds, as an input of the graph.
  VarRef input(PyBorrow tensor, SourceRef source);
  // Tensors are told apart by their stand-ins: what works in place gives back its own.
  VarRef remember(VarRef tensor);
  VarRef with_stand_in(PyBorrow stand_in) const;  // null: a new one

  // Goes on there; the target lies ahead, so that every capture ends.
  void jump(const Instruction& target);
  void finish(VarRef result) { result_ = std::move(result); }
  // The names of a call's last arguments, from one instruction to the call.
  std::vector<std::string>& keywords() { return keywords_; }

 private:
  void step(const Instruction& i);

  const Gil& gil_;
  const FrameView& frame_;
  Bytecode code_;
  OutputGraph graph_;
  Guards guards_;
  std::vector<VarRef> stack_;  // null where CPython has NULL
  std::vector<VarRef> locals_;
  std::vector<bool> is_touched_;  // by slot; an argument that is not is still the frame's
  std::vector<std::string> keywords_;
  std::vector<VarRef> tensors_;
  std::list<Instruction>::const_iterator next_;
  VarRef result_;
  int line_;
};

// The handler of an opcode, null where gaps.def has it.
Handler handler_of(Opcode op);

extern const std::span<const OpcodeRow> kStackOps, kNameOps, kOperatorOps, kCallOps, kJumpOps;

}  // namespace torchdyn
