// Writes the code that runs instead of a frame's own, in the running version's way.
//   CodeWriter w(gil, frame.code());
//   w.call_graph(inputs, compiled, results);
//   w.value(result);
//   w.emit(Opcode::RETURN_VALUE);
//   PyRef code = w.finish();
//
// The code takes what the frame's own takes and has its slots, with temporaries of ours after the
// locals. Constants and names of the frame's own code keep their numbers.
#pragma once

#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/bytecode/instruction.h"
#include "torchdyn/capture/output_graph.h"
#include "torchdyn/cpython/code_object.h"
#include "torchdyn/variables/variable.h"

namespace torchdyn {

class CodeWriter {
 public:
  CodeWriter(const Gil&, CodeView code);

  // ---- Instructions
  Instruction& emit(Opcode op, uint32_t arg = 0);
  Instruction& emit_slot(Opcode op, int slot);  // one of the frame's own code
  void set_position(Position position) { position_ = position; }
  // For jumps: a target that place() puts at what comes next.
  Instruction& jump(Opcode op);
  void place(Instruction& jump);
  const ExceptionHandler* handler(int depth, bool keeps_index);
  void place(const ExceptionHandler* handler);

  void constant(PyBorrow object);
  void load(const Source& source);
  void attribute(PyBorrow name);
  void store_attribute(PyBorrow name);
  void store_global(PyBorrow name);
  // callable(arguments...): what loads them comes in between. The first form takes a constant, the
  // second what value() loads.
  void begin_call(PyBorrow callable);
  void begin_call(const VarRef& callable);
  void end_call(uint32_t count);
  int temporary() { return temporaries_++; }
  void load_temporary(int number) { emit_slot(Opcode::LOAD_FAST, locals_ + number, true); }
  void store_temporary(int number) { emit_slot(Opcode::STORE_FAST, locals_ + number, true); }

  // ---- Values
  // Calls what the graph became; its results are values from now on. The code's first.
  void call_graph(const OutputGraph& graph, PyBorrow compiled, const std::vector<VarRef>& results);
  // Where such code finds the tuple of the graph's inputs, if these are given.
  static int given_slot(CodeView code);
  // What the graph leaves, whatever it became.
  void set_grad_mode(bool is_on);
  // Leaves the value on the stack; one that the frame made is made once. Breaks where it cannot be.
  void value(const VarRef& value);
  void value_of(const Variable& made);  // one that was made already
  // Makes it now: from now on value() gives what it was here.
  void keep(const VarRef& value);
  // Gives the cells and objects that were made so far what is in them.
  void fill();

  PyRef finish();

 private:
  Instruction& emit_slot(Opcode op, int slot, bool is_temporary);
  void cell(const VarRef& value);
  void call(const Source& callable);                           // without arguments
  void call_method(const Source& object, const char* method);  // without arguments
  void load_from_contents(const Source& item);
  uint32_t name_argument(PyBorrow name);
  void load_made(const VarRef& value);

  const Gil& gil_;
  CodeParts parts_;
  Bytecode code_;
  Position position_;
  int locals_;  // of the frame's own code
  int temporaries_ = 0;
  std::vector<Instruction*> moved_;  // whose slots come after the temporaries
  std::vector<PyRef> constants_, names_;
  aten_bridge::HashMap<const Variable*, int> made_;  // temporaries
  std::vector<VarRef> owners_;                       // keep the keys alive
  std::vector<VarRef> unfilled_;
};

}  // namespace torchdyn
