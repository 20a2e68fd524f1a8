// Functions that the frame makes, and the cells that they share with it.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"
#include "torchdyn/variables/wrap.h"

namespace torchdyn {
namespace {

const CellVariable& cell_at(Translator& t, uint32_t slot) {
  return static_cast<const CellVariable&>(*t.cell(slot));
}

void make_cell(Translator& t, const Instruction& i) {
  t.store(i.arg, std::make_shared<CellVariable>(t.load_or_null(i.arg)));
}

void copy_free_variables(Translator&, const Instruction&) {}  // they are there from the beginning

void load_closure(Translator& t, const Instruction& i) { t.push(t.cell(i.arg)); }

void load_deref(Translator& t, const Instruction& i) {
  const CellVariable& cell = cell_at(t, i.arg);
  const PyBorrow found = cell.source() ? cell.source()->read(t.frame()) : PyBorrow();
  if (!cell.content() && !found)
    break_graph(BreakReason::kRaises, "a free variable that is not bound");
  t.push(cell.content() ? cell.content() : wrap(t, found, cell.source()));
}

void store_deref(Translator& t, const Instruction& i) {
  const VarRef cell = t.cell(i.arg);
  if (cell->source()) t.effects().change(cell);
  static_cast<const CellVariable&>(*cell).set(t.pop());
}

void delete_deref(Translator& t, const Instruction& i) {
  const CellVariable& cell = cell_at(t, i.arg);
  if (cell.source()) break_graph(BreakReason::kSideEffect, "a free variable is unbound");
  if (!cell.content()) break_graph(BreakReason::kRaises, "a free variable that is not bound");
  cell.set(nullptr);
}

// CPython: Python/bytecodes.c, SET_FUNCTION_ATTRIBUTE; the bits are MAKE_FUNCTION's until 3.12.
void set_part(Translator& t, const FunctionVariable& function, uint32_t bit, const VarRef& part) {
  switch (bit) {
    case 1:
      for (const VarRef& value : protocol::all_items(t, part)) function.defaults.push_back(value);
      return;
    case 2:
      for (const auto& [key, value] : dynamic_cast<const DictVariable&>(*part).entries())
        function.named_defaults.emplace_back(utf8(key->object()), value);
      return;
    case 4:
      return;  // annotations: nothing that a call does depends on them
    case 8:
      for (const VarRef& cell : protocol::all_items(t, part)) function.closure.push_back(cell);
      return;
    default:
      break_graph(BreakReason::kFunctionDefinition, "");
  }
}

void make_function(Translator& t, const Instruction& i) {
  const VarRef code = t.pop();
  const auto function = std::make_shared<FunctionVariable>(PyRef::to(code->object()), t.globals(),
                                                           t.globals_source());
  if (t.version() < PythonVersion::k3_13)
    for (uint32_t bit = 8; bit != 0; bit >>= 1)
      if ((i.arg & bit) != 0) set_part(t, *function, bit, t.pop());
  t.push(function);
}

void set_function_attribute(Translator& t, const Instruction& i) {
  const VarRef function = t.pop(), part = t.pop();
  set_part(t, static_cast<const FunctionVariable&>(*function), i.arg, part);
  t.push(function);
}

constexpr OpcodeRow kRows[] = {
    {Opcode::MAKE_CELL, make_cell},
    {Opcode::COPY_FREE_VARS, copy_free_variables},
    {Opcode::LOAD_CLOSURE, load_closure},
    {Opcode::LOAD_DEREF, load_deref},
    {Opcode::DELETE_DEREF, delete_deref},
    {Opcode::STORE_DEREF, store_deref},
    {Opcode::MAKE_FUNCTION, make_function},
    {Opcode::SET_FUNCTION_ATTRIBUTE, set_function_attribute},
};

}  // namespace

const std::span<const OpcodeRow> kFunctionOps = kRows;

}  // namespace torchdyn
