#include "inductor/passes/one_hot.h"

#include <algorithm>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/leaves.h"

namespace inductor {
namespace {

bool mentions_var(Expr e, Symbol var) { return mentions({&e, 1}, var); }

bool is_zero(Expr e) {
  if (e.op() != ScalarOp::constant) return false;
  return aten_bridge::is_floating(e.dtype()) ? e.floating() == 0 : e.integer() == 0;
}

Expr integer(ExprPool& pool, const SymExpr& value) {
  const auto constant = value.constant();
  return constant ? pool.integer(DType::kInt64, *constant) : pool.index(value);
}

// Of a comparison of the loop's variable with a place: whether the loop comes by there. Null where
// it is no such comparison.
Expr comes_by(ExprPool& pool, Expr condition, const Loop& loop) {
  if (condition.op() != ScalarOp::eq) return {};
  for (int side : {0, 1}) {
    const Expr at = condition.args()[side], place = condition.args()[1 - side];
    if (at.op() != ScalarOp::index || at.index() != SymExpr::symbol(loop.var)) continue;
    if (mentions_var(place, loop.var)) continue;
    return pool.apply(ScalarOp::bit_and,
                      {pool.apply(ScalarOp::ge, {place, pool.integer(DType::kInt64, 0)}),
                       pool.apply(ScalarOp::lt, {place, integer(pool, loop.extent)})});
  }
  return {};
}

// The sum over the loop of a value that is zero but for one iteration at most; null: it is none.
Expr only_term(ExprPool& pool, Expr value, const Loop& loop) {
  if (value.op() == ScalarOp::cast) {
    const Expr term = only_term(pool, value.args()[0], loop);
    return term ? pool.cast(value.dtype(), term) : Expr();
  }
  if (value.op() != ScalarOp::select) return {};
  const Expr term = value.args()[1], zero = value.args()[2];
  if (!is_zero(zero) || mentions_var(term, loop.var)) return {};
  const Expr condition = comes_by(pool, value.args()[0], loop);
  return condition ? pool.apply(ScalarOp::select, {condition, term, zero}) : Expr();
}

// The sum starts from zero, which makes a negative zero positive.
void pick_term(ExprPool& pool, FlatNest& nest) {
  auto* sum = std::get_if<Reduce>(&nest.leaf);
  if (sum == nullptr || sum->op != ReduceOp::kSum) return;
  const auto is_reduction = [](const Loop& loop) { return loop.kind == LoopKind::kReduction; };
  if (std::count_if(nest.loops.begin(), nest.loops.end(), is_reduction) != 1) return;
  const auto loop = std::find_if(nest.loops.begin(), nest.loops.end(), is_reduction);
  const Expr term = only_term(pool, sum->value, *loop);
  if (!term) return;
  const Expr zero = pool.cast(term.dtype(), pool.integer(DType::kInt64, 0));
  nest.leaf = Store{sum->buffer, sum->index, pool.apply(ScalarOp::add, {term, zero})};
  nest.loops.erase(loop);
}

}  // namespace

void pick_terms(LoopProgram& program) {
  for (Stmt& stmt : program.body) {
    if (leaf_of(stmt) == nullptr) continue;
    FlatNest nest = FlatNest::take(std::move(stmt));
    pick_term(program.pool, nest);
    stmt = std::move(nest).rebuild();
  }
}

}  // namespace inductor
