// for statements: each round runs anew, so that loops are unrolled.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/generator.h"
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
  const VarRef iterator = t.at_depth(1);
  if (VarRef value = protocol::next(t, iterator)) return t.push(std::move(value));
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

// What the first resumption pops is what it pushes.
void return_generator(Translator&, const Instruction&) {}

void yield_value(Translator& t, const Instruction&) { t.yield(t.pop()); }

// CPython: Python/bytecodes.c, GET_YIELD_FROM_ITER and SEND: the next value of what a generator
// yields from, or a jump with what that returns.
void yield_from(Translator& t, const Instruction&) {
  const VarRef iterable = t.pop();
  t.push(dynamic_cast<const GeneratorVariable*>(iterable.get()) ? iterable
                                                                : protocol::iterate(t, iterable));
}

void send(Translator& t, const Instruction& i) {
  const VarRef sent = t.pop(), receiver = t.at_depth(1);
  if (!protocol::is_none(t, sent))
    break_graph(BreakReason::kGeneratorFrame, "a value sent to what a generator yields from");
  if (VarRef value = protocol::next(t, receiver)) return t.push(std::move(value));
  if (t.version() == PythonVersion::k3_11) t.pop();
  const auto* const generator = dynamic_cast<const GeneratorVariable*>(receiver.get());
  t.push(generator && generator->returned() ? generator->returned() : none());
  t.jump(*i.target);
}

void end_send(Translator& t, const Instruction&) {
  VarRef value = t.pop();
  t.pop();
  t.push(std::move(value));
}

constexpr OpcodeRow kRows[] = {
    {Opcode::GET_YIELD_FROM_ITER, yield_from},
    {Opcode::SEND, send},
    {Opcode::END_SEND, end_send},
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
