// Intervals of the integers that code computes: loop variables by their extents, int64 expressions
// by their operators.
//   Bounds b = bounds_of(load.args()[0], loops);   // minimum(maximum(x, 0), 9): {0, 9}
#pragma once

#include <span>

#include "aten_bridge/symbolic/bounds.h"
#include "inductor/ir/loop.h"

namespace inductor {

using aten_bridge::Bounds;
using Loops = std::span<const Loop* const>;  // around a statement, outermost first

// Of an integer expression; unbounded where nothing is known.
Bounds bounds_of(Expr e, Loops loops);
// Of an index whose symbols t0, t1, ... have the values given.
Bounds bounds_of(const SymExpr& index, std::span<const Expr> symbol_values, Loops loops);
// The index without what these intervals decide.
SymExpr decide(const SymExpr& index, std::span<const Expr> symbol_values, Loops loops);

// One past the largest index of a layout; nullopt where it is not a constant.
std::optional<int64_t> storage_size(const TensorType& type);

}  // namespace inductor
