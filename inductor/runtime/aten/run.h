// Runs a compiled graph on LibTorch's tensors.
//   std::vector<at::Tensor> out = run(*compiled, std::move(inputs));
#pragma once

#include <vector>

#include "inductor/runtime/core/compiled_graph.h"

namespace at {
class Tensor;
}

namespace inductor {

// Inputs in graph order, with the types the graph was compiled for; each is let go at its last use.
// An undefined output is an undefined tensor. Call below Autograd. Any number of threads may run one graph.
std::vector<at::Tensor> run(const CompiledGraph& graph, std::vector<at::Tensor> inputs);

}  // namespace inductor
