// Runs a frame's instructions on what is known of its values.
//   Translator t(gil, frame);
//   VarRef result = t.run();         // throws GraphBreak
//   t.graph(), t.guards()            // what it computes, and what must hold for that
//
// A call of a Python function runs the function's instructions in an activation above the caller's;
// handlers see the innermost one.
//
// One row a handled opcode (ops_*.cc), one row an opcode that is not (gaps.def).
#pragma once

#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/bytecode/instruction.h"
#include "torchdyn/capture/output_graph.h"
#include "torchdyn/capture/side_effects.h"
#include "torchdyn/guards/tree.h"
#include "torchdyn/variables/variable.h"

namespace torchdyn {

class ExceptionVariable;
class OpenSizes;
class Symbols;
class Translator;
struct Raised;
using Handler = void (*)(Translator&, const Instruction&);

struct OpcodeRow {
  Opcode op;
  Handler handler;
};

// Instructions of a code object, and where each stands.
struct DecodedCode {
  Bytecode bytecode;
  aten_bridge::HashMap<const Instruction*, std::list<Instruction>::const_iterator> places;
};

// One function's run.
struct Activation {
  CodeView code;
  const DecodedCode* decoded;
  PyBorrow globals;
  SourceRef globals_source;  // null: the frame's own
  std::vector<VarRef> locals = {};
  std::vector<VarRef> stack = {};          // null where CPython has NULL
  std::vector<bool> is_touched = {};       // by slot; an argument that is not is still the frame's
  std::vector<std::string> keywords = {};  // the names of a call's last arguments
  std::list<Instruction>::const_iterator next = {};
  const Instruction* at = nullptr;  // the last that was begun
  VarRef result = {};
  bool has_yielded = false;  // the result is a generator's next value
  int line = 0;
};

class Translator {
 public:
  // `symbols`: where sizes and numbers that `open` names become some; null: nowhere, and capture
  // ends with NeedsSymbols where there is one.
  Translator(const Gil& gil, const FrameView& frame, const OpenSizes& open, Symbols* symbols);
  ~Translator() { leave_modes(); }

  // What the frame returns.
  VarRef run();
  // Runs anew, up to the frame's own instruction that is the `steps`th, and stops before it. Breaks
  // where it does not come that far.
  void run_to(int steps);
  // The frame's own instructions that were begun, up to where it can be cut: before what raised the
  // exceptions that it handles and holds, and before what entered autocast: CPython does these.
  int steps() const;
  const Activation& outermost() const { return activations_.front(); }
  const std::vector<OutputGraph::Input>& inputs() const { return graph_.inputs(); }
  // Where the last instruction stands in the source of the frame, and in that of the innermost
  // callee ("": there is none).
  int line() const;
  std::string callee_place() const;

  // ---- For handlers and variables ----
  const Gil& gil() const { return gil_; }
  OutputGraph& graph() { return graph_; }
  const OutputGraph& graph() const { return graph_; }
  Guards& guards() { return guards_; }
  Symbols* symbols() { return symbols_; }
  SideEffects& effects() { return effects_; }
  const SideEffects& effects() const { return effects_; }
  // That an object from outside is still that one, or one of that type; what the frame made needs
  // none.
  void guard_identity(const Variable& value);
  void guard_type(const Variable& value);
  const FrameView& frame() const { return frame_; }
  PythonVersion version() const { return running_version(); }
  CodeView code() const { return current().code; }
  PyBorrow globals() const { return current().globals; }
  const SourceRef& globals_source() const { return current().globals_source; }

  // Runs a function of these locals to its end.
  VarRef run_function(CodeView code, PyBorrow globals, SourceRef globals_source,
                      std::vector<VarRef> locals);
  // A generator's activation of these locals, which has not begun.
  std::list<Activation> suspended(CodeView code, PyBorrow globals, SourceRef globals_source,
                                  std::vector<VarRef> locals);
  // Runs it on to its next value; null, and it is gone: it has returned.
  VarRef resume(std::list<Activation>* suspended, VarRef* returned, const VarRef& sent,
                const Raised* thrown = nullptr);
  // One source for a dict of globals, whoever leads to it; the first that was named.
  SourceRef canonical_function(PyBorrow function, const SourceRef& source);  // and for a function
  SourceRef canonical_globals(PyBorrow globals, SourceRef source);

  void push(VarRef value) { current().stack.push_back(std::move(value)); }
  VarRef pop();
  std::vector<VarRef> pop(size_t count);  // the deepest first
  VarRef& at_depth(size_t depth);         // 1: the top

  // A local variable; an argument becomes one when it is first used. Breaks where it is unbound.
  VarRef load(uint32_t slot);
  void store(uint32_t slot, VarRef value);  // null: unbound from now on
  VarRef load_or_null(uint32_t slot);
  // A slot's cell: one that the frame made, or one from outside.
  VarRef cell(uint32_t slot);
  // An object from outside, by whatever way it is found, is one Variable. Null: it is new.
  VarRef known(PyBorrow object, const SourceRef& source);
  VarRef found(VarRef variable, PyBorrow object);
  VarRef cell_from_outside(PyBorrow cell, SourceRef content);
  std::string name_of(const Instruction& i) const;
  PyBorrow constant_of(const Instruction& i) const;

  // A tensor that the frame finds, as an input of the graph.
  VarRef input(PyBorrow tensor, SourceRef source);
  // An int that the frame finds, as an input of the graph; null: it is a constant.
  VarRef number(PyBorrow object, const SourceRef& source);
  void tell_sizes(OpenSizes* open) const;  // all that has been found
  // Tensors are told apart by their stand-ins: what works in place gives back its own.
  VarRef remember(VarRef tensor);
  VarRef with_stand_in(PyBorrow stand_in) const;                   // null: a new one
  const std::vector<VarRef>& tensors() const { return tensors_; }  // in the order of their making

  // super(): of the class in whose body the function stands and its first argument.
  VarRef implicit_super();

  // Goes on there. That every capture ends is kMostInstructions' work.
  void jump(const Instruction& target);
  void finish(VarRef result) { current().result = std::move(result); }
  void yield(VarRef value) {
    finish(std::move(value));
    current().has_yielded = true;
  }
  // Sets the grad mode for what is recorded from here on; the thread's own comes back by itself.
  void set_grad_mode(bool is_on);
  void leave_modes();
  bool grad_mode() const { return grad_mode_; }
  std::optional<bool> changed_grad_mode() const;  // where the frame leaves another than it found
  // Enters torch.autocast for what is recorded from here on: device type, dtype, whether it is on
  // and whether casts are kept. Who leaves is who entered last.
  void enter_autocast(const VarRef& manager, const PyRef& parts);
  void enter_block(const VarRef& manager);  // another, within which the frame cannot be cut either
  void leave_block(const VarRef& manager);
  // The exception that an except or finally is about; null: none, or one from outside.
  const VarRef& handled() const { return handled_; }
  void set_handled(VarRef exception) { handled_ = std::move(exception); }
  // The names of a call's last arguments, from one instruction to the call.
  std::vector<std::string>& keywords() { return current().keywords; }

 private:
  static constexpr int kMostInstructions = 200'000;  // loops are unrolled
  static constexpr size_t kMostActivations = 128;

  Activation& current() { return activations_.back(); }
  const Activation& current() const { return activations_.back(); }
  Activation& begin(CodeView code, PyBorrow globals, SourceRef globals_source);
  const DecodedCode& decoded(CodeView code);
  VarRef run_innermost();
  void step(const Instruction& i);
  void unwind(Activation& activation, const Raised& raised);
  const ExceptionVariable* first_raised() const;
  std::pair<int, int> cut_place() const;  // steps and line
  bool has_stopped();
  std::string place(const Source& source) const;  // OpenSizes'

  const Gil& gil_;
  const FrameView& frame_;
  const OpenSizes& open_;
  Symbols* symbols_;
  std::vector<std::pair<SourceRef, int64_t>> numbers_;  // ints that the frame finds
  std::vector<VarRef> open_numbers_;
  OutputGraph graph_;
  Guards guards_;
  SideEffects effects_;
  std::vector<VarRef> tensors_;
  aten_bridge::HashMap<PyObject*, VarRef> found_;
  std::list<Activation> activations_;  // the frame's own first
  aten_bridge::HashMap<PyCodeObject*, std::unique_ptr<DecodedCode>> decoded_;
  aten_bridge::HashMap<PyObject*, SourceRef> globals_;
  bool grad_mode_before_, grad_mode_;
  struct Block {
    VarRef manager;
    PyRef mode, node;  // null: it is not autocast's
    int step, line;    // of the frame itself
  };
  std::vector<Block> blocks_;  // entered and not yet left
  VarRef handled_;
  int instructions_ = 0;
  int steps_ = 0;
  int stop_ = 0;  // 0: nowhere
};

// The handler of an opcode, null where gaps.def has it.
Handler handler_of(Opcode op);

extern const std::span<const OpcodeRow> kStackOps, kNameOps, kOperatorOps, kCallOps, kJumpOps,
    kFunctionOps, kIterationOps, kContainerOps, kFormattingOps, kImportOps, kBlockOps,
    kExceptionOps, kMatchingOps, kIntrinsicOps;

}  // namespace torchdyn
