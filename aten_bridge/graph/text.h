// The graph's text form: prints, parses back, verifies.
//
//   graph 1 forward(x: f32[8, 4], w: f32[4, 4]{1, 4}) {
//     %0: f32[8, 4] = aten::mm(x, w)
//     %1: f32[8, 4] = aten::mul.Tensor(%0, 0.5)  # aten::gelu
//     %2: f32[8], %3: i64[8] = aten::max.dim(%1, dim=1, keepdim=false)
//     return %1, %2, none
//   }
// "graph 1" is the version of the text. Strides in braces are printed where they are not row-major;
// a device other than the CPU is printed as @cuda:0. A comment names the origin where it differs.
// Tensor arguments are printed bare, all others as name=value; %N counts values in order.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

std::string print(const Graph& graph);
std::string print(const TensorType& type);
// Errors name the line and what was expected.
absl::StatusOr<Graph> parse_graph(std::string_view text);
// The law of graph.h, as far as it can be seen without a dispatcher.
absl::Status verify(const Graph& graph);

}  // namespace aten_bridge
