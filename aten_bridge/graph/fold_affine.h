// Moves what scales and shifts the channels of a convolution or a matrix product, by constants,
// into its weights: BatchNorm with its running statistics, and whatever else looks so.
//   conv(x, w, b) - mean, * rstd, * gamma, + beta
//     -> conv(x, w * (rstd * gamma), ((b - mean) * rstd) * gamma + beta)
//   Graph folded = fold_affine(graph, constants);
//   ConstantPart part = take_constants(folded, ...);    // then computes the new weights once
//
// Law: exact arithmetic agrees; roundings are others. A chain ends where a value has two uses, is a
// result, or changes its dtype. A product without a scale keeps its addend apart.
#pragma once

#include "aten_bridge/graph/constant_part.h"
#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

Graph fold_affine(const Graph& graph, const ConstantValues& constants);

}  // namespace aten_bridge
