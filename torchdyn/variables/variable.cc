#include "torchdyn/variables/variable.h"

#include "torchdyn/capture/graph_break.h"

namespace torchdyn {

PyRef Variable::as_node(const Gil&) const {
  break_graph(BreakReason::kValue, "an argument that is a " + type_name());
}

PyRef Variable::as_stand_in(const Gil&) const {
  break_graph(BreakReason::kValue, "an argument that is a " + type_name());
}

void Variable::rebuild(CodeWriter&) const { break_graph(BreakReason::kRebuild, type_name()); }

}  // namespace torchdyn
