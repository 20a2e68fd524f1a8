#include "inductor/ir/rewrite.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "inductor/ir/node_table.h"
#include "inductor/ir/scalar_table.h"

namespace inductor {
namespace {

struct Rewriter {
  ExprPool& pool;
  const std::function<Expr(Expr)>& replace;
  NodeTable<Expr> done;

  Expr operator()(Expr e) {
    if (const Expr* found = done.find(e)) return *found;
    const Expr rebuilt = with_new_args(e);
    const Expr replacement = replace(rebuilt);
    const Expr result = replacement ? replacement : rebuilt;
    done.add(e, result);
    return result;
  }

  Expr with_new_args(Expr e) {
    if (e.args().empty()) return e;
    std::vector<Expr> args;
    args.reserve(e.args().size());
    for (Expr arg : e.args()) args.push_back((*this)(arg));
    const bool same = std::equal(args.begin(), args.end(), e.args().begin());
    return same ? e : with_args(pool, e, std::move(args));
  }
};

}  // namespace

Expr rewrite(ExprPool& pool, Expr root, const std::function<Expr(Expr)>& replace) {
  return Rewriter{pool, replace, {}}(root);
}

Expr with_args(ExprPool& pool, Expr e, std::vector<Expr> args) {
  switch (e.op()) {
    case ScalarOp::constant:
    case ScalarOp::index:
      return e;
    case ScalarOp::load:
      return pool.load(e.buffer(), e.index(), e.dtype(), std::move(args));
    case ScalarOp::cast:
      return pool.cast(e.dtype(), args[0]);
    default:
      return pool.apply(e.op(), std::move(args));
  }
}

Expr substitute(ExprPool& pool, Expr root, const SymbolMap& map) {
  if (map.empty()) return root;
  return rewrite(pool, root, [&](Expr e) -> Expr {
    if (e.op() == ScalarOp::index) return pool.index(e.index().substitute(map));
    if (e.op() == ScalarOp::load)
      return pool.load(e.buffer(), e.index().substitute(map), e.dtype(),
                       {e.args().begin(), e.args().end()});
    return {};
  });
}

void rewrite_leaf(Stmt& leaf, const std::function<Expr(Expr)>& change,
                  const std::function<SymExpr(const SymExpr&)>& change_index) {
  const auto change_common = [&](auto& s) {
    s.index = change_index(s.index);
    s.value = change(s.value);
  };
  if (auto* s = std::get_if<Store>(&leaf)) return change_common(*s);
  if (auto* r = std::get_if<Reduce>(&leaf)) return change_common(*r);
  auto* s = std::get_if<Scatter>(&leaf);
  TD_CHECK(s, "not a leaf");
  change_common(*s);
  for (Expr& value : s->symbol_values) value = change(value);
}

}  // namespace inductor
