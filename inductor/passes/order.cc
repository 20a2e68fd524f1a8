#include "inductor/passes/order.h"

#include <algorithm>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"

namespace inductor {
namespace {

void substitute_in(LoopProgram& program, Stmt& leaf, const SymbolMap& map) {
  rewrite_leaf(
      leaf, [&](Expr e) { return substitute(program.pool, e, map); },
      [&](const SymExpr& index) { return index.substitute(map); });
}

// Every index of a leaf, the written one first.
std::vector<SymExpr> indices(const Stmt& leaf) {
  std::vector<SymExpr> all = {written_index(leaf)};
  for_each_node(expressions(leaf), [&](Expr e) {
    if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) all.push_back(e.index());
  });
  return all;
}

void drop_single_iterations(LoopProgram& program, FlatNest& nest) {
  SymbolMap zero;
  for (const Loop& loop : nest.loops)
    if (loop.extent == SymExpr(1)) zero[loop.var] = 0;
  if (zero.empty()) return;
  std::erase_if(nest.loops, [](const Loop& loop) { return loop.extent == SymExpr(1); });
  substitute_in(program, nest.leaf, zero);
  // A reduction of one element is that element.
  const bool reduces = std::any_of(nest.loops.begin(), nest.loops.end(), [](const Loop& loop) {
    return loop.kind == LoopKind::kReduction;
  });
  if (auto* reduce = std::get_if<Reduce>(&nest.leaf); reduce && !reduces)
    nest.leaf = Store{reduce->buffer, reduce->index, reduce->value};
}

int64_t stride(const SymExpr& index, Symbol var) {
  return std::abs(index.coefficient(var).value_or(0));
}

void sort_loops(FlatNest& nest) {
  const std::vector<SymExpr> all = indices(nest.leaf);
  const auto first_difference = [&](const Loop& a, const Loop& b) {
    for (const SymExpr& index : all)
      if (const int64_t d = stride(index, a.var) - stride(index, b.var)) return d;
    return int64_t{0};
  };
  // A scatter's loops stay: which of them walk memory is known at run time only.
  if (std::holds_alternative<Scatter>(nest.leaf)) return;
  std::stable_sort(nest.loops.begin(), nest.loops.end(), [&](const Loop& a, const Loop& b) {
    if (a.kind != b.kind) return a.kind == LoopKind::kSerial;
    return first_difference(a, b) > 0;
  });
}

// outer * extent(inner) + inner is one variable to every index.
bool walk_as_one(const std::vector<SymExpr>& all, const Loop& outer, const Loop& inner) {
  const auto extent = inner.extent.constant();
  if (outer.kind != inner.kind || !extent) return false;
  return std::all_of(all.begin(), all.end(), [&](const SymExpr& index) {
    const auto a = index.coefficient(outer.var), b = index.coefficient(inner.var);
    return a && b && *a == *b * *extent;
  });
}

void merge_loops(LoopProgram& program, FlatNest& nest) {
  for (size_t n = nest.loops.size(); n-- > 1;) {
    const Loop& outer = nest.loops[n - 1];
    const Loop& inner = nest.loops[n];
    if (!walk_as_one(indices(nest.leaf), outer, inner)) continue;
    Loop merged{
        {'i', program.next_var++}, outer.extent * inner.extent, inner.kind, false, false, {}};
    substitute_in(program, nest.leaf,
                  {{outer.var, SymExpr(0)}, {inner.var, SymExpr::symbol(merged.var)}});
    nest.loops[n - 1] = std::move(merged);
    nest.loops.erase(nest.loops.begin() + n);
  }
}

}  // namespace

void order_loops(LoopProgram& program, FlatNest& nest) {
  drop_single_iterations(program, nest);
  sort_loops(nest);
  merge_loops(program, nest);
}

void order_loops(LoopProgram& program) {
  for (Stmt& stmt : program.body) {
    if (!leaf_of(stmt)) continue;
    FlatNest nest = FlatNest::take(std::move(stmt));
    order_loops(program, nest);
    stmt = std::move(nest).rebuild();
  }
}

}  // namespace inductor
