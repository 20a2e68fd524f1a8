// Convolutions over channels that lie together, and all that is computed between them: the layout
// of a GPU's fast kernels. Half-precision convolutions of row-major images convert them before and
// after each call.
//   if (has_row_major_convolutions(graph)) graph = channels_last(graph, writes_any_strides);
//
// Law: the same values; inputs and outputs keep their strides. An image is copied where it enters
// and where it leaves, or where an operator that is no kernel of ours reads it.
#pragma once

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/view_strides.h"

namespace aten_bridge {

// In half precision, over two dimensions, on a GPU.
bool has_row_major_convolutions(const Graph& graph);
// Every convolution over two dimensions, whatever its dtype and device.
Graph channels_last(const Graph& graph, const WritesAnyStrides& writes_any_strides);

}  // namespace aten_bridge
