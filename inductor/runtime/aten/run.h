// Runs a compiled graph on LibTorch's tensors.
//   graph.linked = *link(graph.plan);                                // once
//   std::vector<at::Tensor> out = run(graph, std::move(inputs));     // often
// One whose sizes are symbols is bound to sizes first; its kernels serve them all:
//   auto of_64 = bind(graph, {{Symbol{'s', 0}, 64}});
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/ir/rewrite.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace at {
class Tensor;
}

namespace inductor {

// Resolves operators and converts their constant arguments. NotFound, naming the operator, when
// LibTorch lacks one. Null for a plan whose sizes are symbols.
absl::StatusOr<std::shared_ptr<const LinkedPlan>> link(const KernelPlan& plan);

absl::StatusOr<std::shared_ptr<const CompiledGraph>> bind(const CompiledGraph& symbolic,
                                                          const SymbolMap& sizes);

// Inputs in graph order, with the types the graph was compiled for; each is let go at its last use.
// An undefined output is an undefined tensor. Runs below Autograd and Autocast, whatever is on. Any
// number of threads may run one graph. An output that is an input shares its storage and version
// counter but is a tensor of its own.
std::vector<at::Tensor> run(const CompiledGraph& graph, std::vector<at::Tensor> inputs);

}  // namespace inductor
