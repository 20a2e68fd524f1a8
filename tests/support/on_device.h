// The same graph with all of its tensors on another device.
//   move_to(graph, {Device::Kind::kCuda, 0});
#pragma once

#include "aten_bridge/graph/graph.h"

namespace torchdyn::testing {

inline void move_to(aten_bridge::Graph& graph, const aten_bridge::Device& device) {
  const auto move_outputs = [&](aten_bridge::Node& node) {
    for (auto& type : node.outputs)
      if (type) type->device = device;
  };
  for (const aten_bridge::Value& input : graph.inputs()) move_outputs(*input.node);
  for (const auto& node : graph.nodes()) {
    move_outputs(*node);
    for (auto& argument : node->args)
      if (auto* d = std::get_if<aten_bridge::Device>(&argument.value)) *d = device;
  }
}

}  // namespace torchdyn::testing
