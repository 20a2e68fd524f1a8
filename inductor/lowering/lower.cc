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

template <class See>
void for_each_type(const Node& node, const See& see) {
  for (const Value& input : node.inputs()) see(input.type());
  for (const auto& type : node.outputs)
    if (type) see(*type);
}

// Kernels reach memory of their own device alone.
bool is_elsewhere(const Node& node, const LoweringRow* row, const aten_bridge::Device& device) {
  const bool takes_host_values = row != nullptr && row->takes_host_values;
  bool found = false;
  for_each_type(node, [&](const aten_bridge::TensorType& type) {
    const bool by_value = takes_host_values && type.device == aten_bridge::Device{};
    found |= type.device != device && !by_value;
  });
  return found;
}

}  // namespace

aten_bridge::Device device_of(const aten_bridge::Graph& graph) {
  aten_bridge::Device device;
  const auto see = [&](const aten_bridge::TensorType& type) {
    if (device.kind == aten_bridge::Device::Kind::kCpu) device = type.device;
  };
  for (const Value& input : graph.inputs()) see(input.type());
  for (const auto& node : graph.nodes()) for_each_type(*node, see);
  return device;
}

LoopProgram lower(const aten_bridge::Graph& graph, aten_bridge::Numerics numerics,
                  const LeftToAten& left) {
  Builder builder(graph, numerics);
  const aten_bridge::Device device = device_of(graph);
  for (const auto& node : graph.nodes()) {
    const std::string& origin = node->origin.empty() ? node->op : node->origin;
    builder.set_origin(origin);
    const LoweringRow* row = find_lowering(node->op);
    const bool runs = kind_of(node->op) != OpKind::kView;
    bool leave = runs && (left.contains(origin) || is_elsewhere(*node, row, device));
    leave |= builder.keeps_eagers_bits() && row && rounds_otherwise(*row, *node);
    if (!leave && row && lower_by(*row, builder, *node)) continue;
    builder.extern_call(*node);
  }
  builder.set_outputs(graph.outputs());
  return builder.take();
}

}  // namespace inductor
