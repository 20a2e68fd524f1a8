// Makes scalar code smaller without changing a value: literals are computed, fold_rules.h applied,
// exact casts dropped, integer comparisons and clamps decided by the loops' bounds.
//   y[i0] = add(mul(x[i0], 1:f32), mul(2:f32, 3:f32))   becomes   y[i0] = add(x[i0], 6:f32)
#pragma once

#include "inductor/ir/value_bounds.h"

namespace inductor {

void fold(LoopProgram& program);
Expr fold(ExprPool& pool, Expr e, Loops loops);

// Whether `to` holds every value of `from`.
bool holds_all(DType to, DType from);

}  // namespace inductor
