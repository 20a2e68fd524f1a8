// One operator each: inputs | types of the results | the call, as in a graph's text.
//   "x: f32[4, 6], y: f32[6] | f32[4, 6] | aten::add.Tensor(x, other=y, alpha=2)"
// Inputs named ids are indices from 0 to 2.
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace inductor::testing {

std::vector<std::string> lowering_cases();
// Those of window_cases.cc among them: pooling and upsampling.
std::vector<std::string> window_cases();
aten_bridge::Graph graph_of(const std::string& one_case);

}  // namespace inductor::testing
