// Random numbers that a GPU's kernels make themselves: an operator that draws, as one that notes
// where the generator stands and advances it as eager does, and a function of that state, which
// may fuse and run again.
//   %0: f32[8], %1: bool[8] = aten::native_dropout(input=x, p=0.5, train=true)
//     -> %0: i64[2] = torchdyn::philox_state(increment=4, aligned=[x], device=@cuda:0)
//        %1: bool[8] = torchdyn::philox_dropout(state=%0, size=[8], keep=0.5, vector=4, ...)
//        %2: f32[8] = aten::native_dropout_backward(grad_output=x, mask=%1, scale=2.0)
//
//   Graph graph = draws_in_kernels(joint.graph, {joint.primals, is_view, most_threads});
//
// Law
//  - Eager's very numbers, and the generator where eager leaves it. The functions' arguments say
//  all
//    that ATen's kernels choose by: how many threads the device holds, the width of its vectors.
//  - The state is two numbers on the host: the seed, and how many calls a sequence made before.
//  - A width of more than one is eager's where `aligned`, inputs of the graph, are multiples of 16
//    bytes; who runs the graph checks that before anything is drawn.
//  - What is not known to give eager's numbers stays as it is: symbolic sizes, generators that are
//    arguments, draws behind the first use of a tangent.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

struct DrawOptions {
  int primals = 0;  // the graph's first inputs; tangents follow
  std::function<bool(const Node&)> is_view;
  // How many threads a device runs at once; none where that is not known.
  std::function<std::optional<int64_t>(const Device&)> most_threads;
};

Graph draws_in_kernels(const Graph& graph, const DrawOptions& options);

}  // namespace aten_bridge
