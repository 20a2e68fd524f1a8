// Graph -> LoopProgram: one perfect loop nest a pointwise or reduction node, views folded into
// indices, everything without a row an extern call.
//   LoopProgram loops = lower(graph);
#pragma once

#include <string>
#include <string_view>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/partition.h"
#include "inductor/ir/loop.h"

namespace inductor {

enum class OpKind : uint8_t { kView, kPointwise, kReduction, kScatter, kExtern, kRandom };

// From the operator's row; kExtern where there is none.
OpKind kind_of(std::string_view op);
// Whether a kernel of ours writes the node's results, in the layout of their types.
bool writes_any_strides(const aten_bridge::Node& node);
// What the partition may repeat, derived from the kind.
aten_bridge::Recompute recompute_of(const aten_bridge::Node& node);

// Operators, or origins of operators, that are extern calls although they have a row. Views stay
// what they are: they run nothing.
using LeftToAten = HashSet<std::string>;

// A graph's kernels run on one device: on the GPU, where any of its tensors is. A graph without
// tensors is for the CPU.
aten_bridge::Device device_of(const aten_bridge::Graph& graph);

// An operator with a tensor on another device is an extern call, too.
LoopProgram lower(const aten_bridge::Graph& graph,
                  aten_bridge::Numerics numerics = aten_bridge::Numerics::kDefault,
                  const LeftToAten& left = {});

}  // namespace inductor
