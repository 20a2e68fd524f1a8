// Takes out of a graph what depends on constant inputs alone, to be computed once.
//   ConstantPart part = take_constants(graph, {false, true}, recompute);   // of x, weight
//   // part.constant: (x, weight) -> (folded0, ...)    part.rest: (x, weight, folded0, ...) ->
//   results
//
// Law
//  - What `recompute` forbids (random draws, checks) is never constant, nor is what has open sizes.
//  - What costs nothing again (views, fills) is repeated in the rest, where it is fused.
//  - A result of the graph is never a constant itself, which its caller could change: it is a copy.
#pragma once

#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/partition.h"

namespace aten_bridge {

// Of each of a graph's values, whether it depends on constant inputs and literals alone.
class ConstantValues {
 public:
  ConstantValues(const Graph& graph, const std::vector<bool>& is_constant_input,
                 const RecomputeOf& recompute);
  bool contains(Value value) const;

 private:
  HashSet<Value> values_;
};

struct ConstantPart {
  Graph constant{"constant"};  // the graph's inputs; outputs are the rest's last inputs
  Graph rest;
  std::vector<int> used;  // the inputs that `constant` reads
};

ConstantPart take_constants(const Graph& graph, const std::vector<bool>& is_constant_input,
                            const RecomputeOf& recompute);

}  // namespace aten_bridge
