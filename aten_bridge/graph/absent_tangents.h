// The backward of a program that returns a loss, and beside it what is only looked at: logits.
//   std::vector<bool> given = likely_tangents(joint, differentiable results);   // the loss's
//   Graph less = without_tangents(backward, given);
//
// Law: as eager's, where a gradient that nobody gives is none. A sum with it is the other addend;
// what is linear in it is none as well; for any other operator it is zeros.
#pragma once

#include <vector>

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/partition.h"

namespace aten_bridge {

// One a tangent. Numbers are losses: beside them, tangents of larger results are not to be
// expected.
std::vector<bool> likely_tangents(const Joint& joint);

// `backward` without those of its last inputs, the tangents, that are not given.
Graph without_tangents(const Graph& backward, const std::vector<bool>& given);

}  // namespace aten_bridge
