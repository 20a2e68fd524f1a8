// CALL_INTRINSIC_1: what CPython's compiler asks for by number.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/variables/exception.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

// PEP 479: what a StopIteration becomes that leaves a generator. CPython: Python/intrinsics.c,
// stopiteration_error.
VarRef stop_iteration_error(Translator& t, const VarRef& value) {
  const auto exception = std::dynamic_pointer_cast<const ExceptionVariable>(value);
  if (!exception) break_graph(BreakReason::kExceptions, "an exception that came from elsewhere");
  if (!is_a({exception}, PyBorrow(PyExc_StopIteration))) return value;
  try {
    raise(t, PyBorrow(PyExc_RuntimeError), "generator raised StopIteration");
  } catch (const Raised& raised) {
    raised.exception->cause = raised.exception->context = exception;
    raised.exception->hides_context = true;
    return raised.exception;
  }
}

VarRef positive(Translator& t, const VarRef& value) {
  if (dynamic_cast<const TensorVariable*>(value.get()))
    return protocol::call(t, protocol::get_attribute(t, value, "positive"), {});
  return protocol::fold(t, import_attribute(t.gil(), "operator", "pos"), {{value}, {}});
}

VarRef list_to_tuple(Translator& t, const VarRef& list) {
  return std::make_shared<SequenceVariable>(/*is_list=*/false, protocol::all_items(t, list));
}

struct IntrinsicRow {
  uint32_t number;
  VarRef (*run)(Translator&, const VarRef& value);
};

// CPython: Include/internal/pycore_intrinsics.h.
constexpr IntrinsicRow kIntrinsics[] = {
    {3, stop_iteration_error}, {5, positive}, {6, list_to_tuple}};

void intrinsic(Translator& t, const Instruction& i) {
  for (const IntrinsicRow& row : kIntrinsics)
    if (row.number == i.arg) return t.push(row.run(t, t.pop()));
  break_graph(BreakReason::kOpcode, "CALL_INTRINSIC_1");
}

constexpr OpcodeRow kRows[] = {{Opcode::CALL_INTRINSIC_1, intrinsic}};

}  // namespace

const std::span<const OpcodeRow> kIntrinsicOps = kRows;

}  // namespace torchdyn
