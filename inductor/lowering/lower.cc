#include "inductor/lowering/row.h"

namespace inductor {

LoopProgram lower(const aten_bridge::Graph& graph) {
  Builder builder(graph);
  for (const auto& node : graph.nodes()) {
    builder.set_origin(node->origin.empty() ? node->op : node->origin);
    const LoweringRow* row = find_lowering(node->op);
    if (row && row->lower && row->lower(builder, *node)) continue;
    builder.extern_call(*node);
  }
  builder.set_outputs(graph.outputs());
  return builder.take();
}

}  // namespace inductor
