#include "inductor/lowering/row.h"

namespace inductor {

LoopProgram lower(const aten_bridge::Graph& graph, const LeftToAten& left) {
  Builder builder(graph);
  for (const auto& node : graph.nodes()) {
    const std::string& origin = node->origin.empty() ? node->op : node->origin;
    builder.set_origin(origin);
    const LoweringRow* row = find_lowering(node->op);
    const bool leave = left.contains(origin) && kind_of(node->op) != OpKind::kView;
    if (!leave && row && row->lower && row->lower(builder, *node)) continue;
    builder.extern_call(*node);
  }
  builder.set_outputs(graph.outputs());
  return builder.take();
}

}  // namespace inductor
