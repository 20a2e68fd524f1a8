#include "inductor/lowering/element.h"
#include "inductor/lowering/row.h"

namespace inductor {

namespace {

// Whether the row's formula has not eager's bits on the dtype of the node: its result's, or its
// first operand's where the result is none that is rounded.
bool rounds_otherwise(const LoweringRow& row, const Node& node) {
  const auto on = [&](const aten_bridge::TensorType& type) {
    return row.otherwise.on(type.dtype, type.device.kind);
  };
  for (const auto& output : node.outputs)
    if (output && is_floating(output->dtype)) return on(*output);
  const std::vector<Value> inputs = node.inputs();
  return !inputs.empty() && on(inputs[0].type());
}

Verdict lower_by(const LoweringRow& row, Builder& builder, const Node& node) {
  if (row.element != nullptr) return lower_element(builder, node, *row.element);
  return row.lower != nullptr ? row.lower(builder, node) : Verdict::no("always an extern call");
}

}  // namespace

LoopProgram lower(const aten_bridge::Graph& graph, aten_bridge::Numerics numerics,
                  const LeftToAten& left) {
  Builder builder(graph, numerics);
  for (const auto& node : graph.nodes()) {
    const std::string& origin = node->origin.empty() ? node->op : node->origin;
    builder.set_origin(origin);
    const LoweringRow* row = find_lowering(node->op);
    bool leave = left.contains(origin) && kind_of(node->op) != OpKind::kView;
    leave |= builder.keeps_eagers_bits() && row && rounds_otherwise(*row, *node);
    if (!leave && row && lower_by(*row, builder, *node)) continue;
    builder.extern_call(*node);
  }
  builder.set_outputs(graph.outputs());
  return builder.take();
}

}  // namespace inductor
