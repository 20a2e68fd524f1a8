// Products of half-precision matrices whose rows are no multiple of 16 bytes, as products of padded
// ones: vendors' fast kernels need aligned rows (a head over 50,257 words; its gradients).
//   mm(x: [n, 768], w: [768, 50257])
//     -> slice(mm(x, constant_pad_nd(w, [0, 7])), dim=1, end=50257)
//   Graph padded = pad_products(graph, writes_any_strides, {});
//
// Law: what is added is zero, so that exact arithmetic agrees. A matrix is padded once, where it is
// made and in the order of its memory, for all of its products; one that a kernel of ours makes is
// concatenated with zeros, so that the kernel writes padded rows. A view or a kernel of ours reads
// a slice of a padded result; a result of the graph and any other operator a copy with eager's
// strides.
#pragma once

#include <cstdint>

#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/view_strides.h"

namespace aten_bridge {

// A product is padded where that saves more than it costs. On an H200 the kernels for unaligned
// rows reach 250 of 600 TFLOP/s, and a copy moves 3.5 TB/s: 120 operations a byte even out.
struct PaddingCosts {
  double least_operations = 1e10;
  double operations_per_byte = 250;  // that padding copies
};

Graph pad_products(const Graph& graph, const WritesAnyStrides& writes_any_strides,
                   const PaddingCosts& costs);

}  // namespace aten_bridge
