// How a view lies in memory, where what it views lies otherwise than in the graph: a rewrite gave a
// value other strides, and its views follow instead of being copies.
//   std::optional<Strides> strides = strides_of_view(node, copy.type());
//
// Sizes are known: symbols are for the caller to refuse.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

using Strides = std::vector<SymExpr>;

// Whether a node's results lie in memory as their types say, whatever its inputs do.
using WritesAnyStrides = std::function<bool(const Node&)>;

// Whether the node is a view of one tensor that `strides_of_view` knows.
bool is_known_view(const Node& node);

// Of the only result of such a view of a tensor of type `self`, which has the sizes that the node's
// own has; none where no strides give it.
std::optional<Strides> strides_of_view(const Node& node, const TensorType& self);

}  // namespace aten_bridge
