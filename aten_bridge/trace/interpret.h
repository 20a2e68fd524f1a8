// The reference backend: runs a graph node by node through the dispatcher.
//   Tensors out = interpret(graph, {x, w});
#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"

#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

// One node; an undefined tensor in the place of a number.
std::vector<at::Tensor> run_node(const Node& node, absl::FunctionRef<at::Tensor(Value)> tensor_of);

// Inputs in graph order; returns the outputs (undefined tensors where the graph has none).
// Differentiable when grad mode is on: every operator goes through the full dispatcher.
std::vector<at::Tensor> interpret(const Graph& graph, std::vector<at::Tensor> inputs);

}  // namespace aten_bridge
