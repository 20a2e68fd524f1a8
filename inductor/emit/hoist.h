// What need not be computed in every iteration.
//   for (Expr e : invariants(loop)) ...      // scalars to compute before the loop
// The largest parts of the body's expressions that the loop's variable does not reach and that read
// nothing the loop writes; literals aside.
#pragma once

#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

std::vector<Expr> invariants(const Loop& innermost);

// The expressions of a body's own statements, in order; those inside of loops are theirs.
std::vector<Expr> roots(std::span<const Stmt> body);

}  // namespace inductor
