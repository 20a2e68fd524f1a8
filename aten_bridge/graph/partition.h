// Splits a joint graph at the cheapest set of values to save (min-cut).
//   Partition p = partition(joint, recompute);
//
// A joint graph: inputs are the primals, then the tangents; outputs are the forward results, then
// one gradient a primal (none where there is none). forward returns the forward results, then the
// saved values that are not primals. backward takes the saved values, then the tangents, and
// returns the gradients. Recomputes only what `recompute` allows and what is cheaper to run again
// than to save and read back.
#pragma once

#include <functional>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

struct Joint {
  Graph graph;
  int primals = 0;
  int tangents = 0;
  int results = 0;  // forward results among the outputs; gradients follow, one a primal
};

// Of each primal: the tangents that its gradient depends on, ascending; all of them where it is a
// gradient that depends on none, as a user's own backward may give.
std::vector<std::vector<int>> tangents_of_gradients(const Joint& joint);

// What running a node a second time costs the backward.
enum class Recompute : uint8_t {
  kFree,       // a view: no arithmetic, no memory
  kFusible,    // pointwise: fused into its user, costs only the reads of its inputs
  kReduction,  // never again, but what it reads is fused into it
  kExpensive,  // a matrix product, anything extern: never again, and it reads from memory
  kForbidden,  // random, or with an effect: exactly once
};
using RecomputeOf = std::function<Recompute(const Node&)>;

struct SavedValue {
  int primal = -1;  // >= 0: the primal itself, which costs no memory of its own
  int result = -1;  // >= 0: an output of forward
};

struct Partition {
  Graph forward;
  Graph backward;
  std::vector<SavedValue> saved;  // in the order of backward's first inputs
};

Partition partition(const Joint& joint, const RecomputeOf& recompute);

}  // namespace aten_bridge
