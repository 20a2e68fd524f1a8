// Convolutions over channels that lie together, and all that is computed between them: the layout
// of the fast kernels, which convert row-major images before and after each call.
//   if (auto last = with_channels_last(graph, writes_any_strides)) graph = *std::move(last);
//
// Law: the same values; inputs and outputs keep their strides. An image is copied where it enters
// and where it leaves, or where an operator that is no kernel of ours reads it; a weight, where it
// is one; on a GPU the filters of single channels too, so that the channels lie together.
#pragma once

#include <optional>

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/view_strides.h"

namespace aten_bridge {

// The graph so, where that is faster: half precision on a GPU; float32 on a CPU, unless more is
// copied than the convolutions gain.
std::optional<Graph> with_channels_last(const Graph& graph,
                                        const WritesAnyStrides& writes_any_strides);
// Every convolution over two dimensions, whatever its dtype and device.
Graph channels_last(const Graph& graph, const WritesAnyStrides& writes_any_strides);

}  // namespace aten_bridge
