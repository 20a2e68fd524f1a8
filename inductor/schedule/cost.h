// Estimated work, in additions: what decides over threads and unrolling.
//   work(loop) == 8 * 128 * 17;         // for i0 < 8, for i1 < 128: an exp, a load and a store
#pragma once

#include <cstdint>
#include <span>

#include "inductor/ir/loop.h"

namespace inductor {

// The extent, or a guess where it is symbolic.
int64_t trip_count(const Loop& loop);
// Of one evaluation: each shared node once.
int64_t work(std::span<const Expr> roots);
// Of a statement and everything inside of it.
int64_t work(const Stmt& stmt);
int64_t work(std::span<const Stmt> body);

}  // namespace inductor
