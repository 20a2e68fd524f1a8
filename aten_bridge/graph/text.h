// The graph's text form: prints, parses back, verifies.
//
//   graph 1 forward(x: f32[8, 4], w: f32[4, 4]{1, 4}) {
//     %0: f32[8, 4] = aten::mm(x, mat2=w)
//     %1: f32[8, 4] = aten::mul.Tensor(%0, other=0.5)  # aten::gelu
//     %2: f32[8], %3: i64[8] = aten::max.dim(%1, dim=1, keepdim=false)
//     return %1, %2, none
//   }
// "graph 1" is the version of the text; %N counts values in order. Strides in braces are printed
// where they are not row-major; a device other than the CPU is printed as @cuda:0; an undefined
// output has the type none. A comment after a node names the origin where it differs; a line may
// also be a comment. The argument `self` is printed bare, all others as name=value:
//
//   none              None                        1.0, inf, nan      double: always with . or e
//   %0, x             a tensor                    [1.0, 2.5]         double[]
//   [%0, none]        tensor lists                complex(0.0, 1.0)  a complex scalar
//   1, 3*s0 + 6       int                         "a\n"              a string, with C's escapes
//   [1, s0], []       int[]                       f32                a dtype
//   true, [true]      bool, bool[]                @cpu, @cuda:0      a device
// Empty lists of the other types are tensor[], double[] and bool[].
//
// An input's name is a word (letters, digits, _ and .) that means nothing else in this text.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

inline constexpr std::string_view kGraphTextVersion = "1";

std::string print(const Graph& graph);
std::string print(const TensorType& type);
// Errors name the line and what was expected.
absl::StatusOr<Graph> parse_graph(std::string_view text);
// The law of graph.h, as far as it can be seen without a dispatcher.
absl::Status verify(const Graph& graph);

}  // namespace aten_bridge
