// Runs a compiled graph on LibTorch's tensors.
//   graph.linked = *link(graph.plan);                                // once
//   std::vector<at::Tensor> out = run(graph, std::move(inputs));     // often
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/runtime/core/compiled_graph.h"

namespace at {
class Tensor;
}

namespace inductor {

// Resolves operators and converts their constant arguments. NotFound, naming the operator, when
// LibTorch lacks one; Unimplemented for a plan with symbolic sizes.
absl::StatusOr<std::shared_ptr<const LinkedPlan>> link(const KernelPlan& plan);

// Inputs in graph order, with the types the graph was compiled for; each is let go at its last use.
// An undefined output is an undefined tensor. Runs below Autograd and Autocast, whatever is on. Any
// number of threads may run one graph. An output that is an input shares its storage and version
// counter but is a tensor of its own.
std::vector<at::Tensor> run(const CompiledGraph& graph, std::vector<at::Tensor> inputs);

}  // namespace inductor
