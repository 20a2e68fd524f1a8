// The reference backend: runs a graph node by node through the dispatcher.
//   Tensors out = interpret(graph, {x, w});
#pragma once

#include <optional>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

// Inputs in graph order; returns the outputs (undefined tensors where the graph has none).
// Differentiable when grad mode is on: every operator goes through the full dispatcher.
std::vector<at::Tensor> interpret(const Graph& graph, std::vector<at::Tensor> inputs);

}  // namespace aten_bridge
