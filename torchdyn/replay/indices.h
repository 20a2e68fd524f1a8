// Which arguments of a step are indices, and into what.
//   for (const IndexUse& use : index_uses(node)) ...   // values of the node's graph
//   index_limit("i3_7");                               // 7: that input holds 0 to 6
//
// An index out of range raises on a CPU and ends the process on a GPU, so that no program may hold
// one: a builder takes a step only if its indices' limits are within what they index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace replay {

struct IndexUse {
  aten_bridge::Value index, indexed;
  int64_t dim = 0;  // of what is indexed; may count from the end
};

std::vector<IndexUse> index_uses(const aten_bridge::Node& node);

std::optional<int64_t> index_limit(const std::string& input);
std::string with_index_limit(const std::string& input, int64_t limit);

}  // namespace replay
