// Convolutions with constant weights on a CPU, by oneDNN's with weights in its own order.
//   conv(x, w, b)  ->  mkldnn::_convolution_pointwise(x, reorder(to_mkldnn(w)), b)
//   Graph packed = pack_weights(graph, constants);
//   ConstantPart part = take_constants(packed, ...);    // then reorders the weights once
//
// Only where it measures faster: float32, channels last (time on one core 0.6 to 1.07 of eager's,
// 0.8 on average; in row-major order its result would be copied, and matrix products gain nothing).
#pragma once

#include "aten_bridge/graph/constant_part.h"
#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

Graph pack_weights(const Graph& graph, const ConstantValues& constants);

}  // namespace aten_bridge
