#include "inductor/lowering/term.h"

#include <algorithm>

namespace inductor {

Term number(const Term& like, double value) {
  if (!like) return like;
  const DType dtype = like.dtype();
  if (is_floating(dtype)) return {like.pool, like.pool->constant(dtype, value)};
  if (dtype == DType::kBool) return {like.pool, like.pool->integer(dtype, value != 0)};
  return {like.pool, like.pool->integer(dtype, static_cast<int64_t>(value))};
}

Term cast(DType dtype, const Term& t) { return t ? Term{t.pool, t.pool->cast(dtype, t.expr)} : t; }

Term truth(const Term& t) { return cast(DType::kBool, t); }

Term multiply_add(const Term& a, const Term& b, const Term& c) {
  if (!a || !b || !c) return {a.pool};
  return is_floating(c.dtype()) ? fma(a, b, c) : a * b + c;
}

Term apply(ScalarOp op, std::span<const Term> args) {
  ExprPool* const pool = args.front().pool;
  std::vector<Expr> exprs;
  for (const Term& arg : args) exprs.push_back(arg.expr);
  const bool all = std::all_of(exprs.begin(), exprs.end(), [](Expr e) { return bool(e); });
  if (!all || !is_defined_on(row(op), exprs.back().dtype())) return {pool};
  return {pool, pool->apply(op, std::move(exprs))};
}

}  // namespace inductor
