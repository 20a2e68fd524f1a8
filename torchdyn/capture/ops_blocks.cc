// with statements, as long as nothing is raised in them.
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/variables/attributes.h"
#include "torchdyn/variables/descriptors.h"
#include "torchdyn/variables/protocol.h"

namespace torchdyn {
namespace {

VarRef block_method(Translator& t, const VarRef& manager, const char* name) {
  const VarRef method = is_object(manager) ? special_method(t, manager, name) : nullptr;
  if (!method) break_graph(BreakReason::kExceptions, "with a " + manager->type_name());
  return method;
}

// CPython: Python/bytecodes.c, BEFORE_WITH.
void before_with(Translator& t, const Instruction&) {
  const VarRef manager = t.pop();
  const VarRef enter = block_method(t, manager, "__enter__");
  t.push(block_method(t, manager, "__exit__"));
  t.push(protocol::call(t, enter, {}));
}

constexpr OpcodeRow kRows[] = {{Opcode::BEFORE_WITH, before_with}};

}  // namespace

const std::span<const OpcodeRow> kBlockOps = kRows;

}  // namespace torchdyn
