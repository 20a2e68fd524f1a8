// Rewriting of expressions, bottom-up, each shared node once.
//   Expr y = rewrite(pool, x, [&](Expr e) { return e.op() == ScalarOp::load ? zero : Expr(); });
//   Expr z = substitute(pool, y, {{Symbol{'i', 0}, 4 * i1 + i2}});      // in indices
#pragma once

#include <functional>

#include "inductor/ir/loop.h"

namespace inductor {

using aten_bridge::SymbolMap;

// Calls `replace` on every node after its arguments were rewritten; it returns what stands in the
// node's place, or a null Expr to keep it.
Expr rewrite(ExprPool& pool, Expr root, const std::function<Expr(Expr)>& replace);

// The same node over other arguments.
Expr with_args(ExprPool& pool, Expr e, std::vector<Expr> args);

// Replaces loop variables and sizes in the indices of loads and of index nodes. The symbols t0, t1,
// ... of a load are its own and must not be in the map.
Expr substitute(ExprPool& pool, Expr root, const SymbolMap& map);

// Applies `change` to the expressions of a Store, Reduce or Scatter and `change_index` to its
// index.
void rewrite_leaf(Stmt& leaf, const std::function<Expr(Expr)>& change,
                  const std::function<SymExpr(const SymExpr&)>& change_index);

}  // namespace inductor
