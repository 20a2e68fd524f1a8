// for statements: each round runs anew, so that loops are unrolled.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

void get_iterator(Translator& t, const Instruction&) {
  const VarRef iterable = t.pop();
  t.push(protocol::iterate(t, iterable));
}

// At the end 3.11 drops the iterator, later versions leave that to END_FOR, with one value more.
void next_or_jump(Translator& t, const Instruction& i) {
  const auto* const iterator = dynamic_cast<const IteratorVariable*>(t.at_depth(1).get());
  if (!iterator) break_graph(BreakReason::kControlFlow, t.at_depth(1)->type_name());
  if (VarRef value = iterator->next(t)) return t.push(std::move(value));
  if (t.version() == PythonVersion::k3_11) {
    t.pop();
  } else {
    t.push(nullptr);
  }
  t.jump(*i.target);
}

void end_for(Translator& t, const Instruction&) {
  t.pop();
  if (t.version() == PythonVersion::k3_12) t.pop();
}

// A comprehension's variable hides the function's for as long as it runs.
void load_and_clear(Translator& t, const Instruction& i) {
  t.push(t.load_or_null(i.arg));
  t.store(i.arg, nullptr);
}

// What the first resumption pops.
void return_generator(Translator& t, const Instruction&) {
  t.push(std::make_shared<ConstantVariable>(PyRef::to(PyBorrow(Py_None))));
}

void yield_value(Translator& t, const Instruction&) { t.yield(t.pop()); }

constexpr OpcodeRow kRows[] = {
    {Opcode::RETURN_GENERATOR, return_generator},
    {Opcode::YIELD_VALUE, yield_value},
    {Opcode::GET_ITER, get_iterator},
    {Opcode::FOR_ITER, next_or_jump},
    {Opcode::END_FOR, end_for},
    {Opcode::LOAD_FAST_AND_CLEAR, load_and_clear},
};

}  // namespace

const std::span<const OpcodeRow> kIterationOps = kRows;

}  // namespace torchdyn
