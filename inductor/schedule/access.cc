#include "inductor/schedule/access.h"

#include <cstdlib>
#include <limits>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

bool mentions_symbol_values(const SymExpr& index) {
  for (Symbol s : index.symbols())
    if (s.kind == 't') return true;
  return false;
}

void add_leaf(const Stmt& leaf, std::vector<Access>& out) {
  const std::vector<Expr> roots = expressions(leaf);
  for_each_node(roots, [&](Expr e) {
    if (e.op() == ScalarOp::load)
      out.push_back({e.buffer(), e.index(), AccessKind::kRead, !mentions_symbol_values(e.index())});
  });
  const SymExpr& index = written_index(leaf);
  const bool scatters = std::holds_alternative<Scatter>(leaf);
  out.push_back({written_buffer(leaf), index, scatters ? AccessKind::kScatter : AccessKind::kWrite,
                 !mentions_symbol_values(index)});
}

// Empty when no two iterations meet.
std::string meeting(const Access& a, const Access& b, Symbol var, const Extents& extents) {
  if (!a.is_affine_in_loops || !b.is_affine_in_loops) return "an index is read at run time";
  const auto ca = a.index.coefficient(var), cb = b.index.coefficient(var);
  if (!ca || !cb) return "an index is not linear in the loop";
  if (*ca != *cb) return "indices advance by different steps";
  if (*ca == 0) return "every iteration uses the same elements";
  const SymExpr step = *ca * SymExpr::symbol(var);
  const Bounds between = bounds_of((a.index - step) - (b.index - step), extents);
  const int64_t stride = std::abs(*ca);
  if (between.low > -stride && between.high < stride) return "";
  return "an iteration reaches into another's elements";
}

}  // namespace

void add_extents(const Stmt& stmt, Extents& extents) {
  for_each_stmt({&stmt, 1}, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s)) extents[loop->var] = loop->extent;
  });
}

Bounds bounds_of(const SymExpr& index, const Extents& extents) {
  return aten_bridge::bounds(index, [&](Symbol s) -> Bounds {
    const auto it = extents.find(s);
    if (it == extents.end()) return s.kind == 's' ? Bounds{0, Bounds().high} : Bounds();
    const Bounds extent = bounds_of(it->second, extents);
    if (extent.high == Bounds().high) return {0, extent.high};
    return {0, std::max<int64_t>(0, extent.high - 1)};
  });
}

std::vector<Access> accesses(const Stmt& stmt) {
  std::vector<Access> out;
  for_each_leaf({&stmt, 1}, [&](auto, const Stmt& leaf) { add_leaf(leaf, out); });
  return out;
}

bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::kScatter || b == AccessKind::kScatter) return true;
  return a != b;  // one reads, one writes
}

bool depends(const Stmt& a, const Stmt& b) {
  const std::vector<Access> all = accesses(b);
  for (const Access& x : accesses(a))
    for (const Access& y : all)
      if (x.buffer == y.buffer && conflict(x.kind, y.kind)) return true;
  return false;
}

Verdict share_iterations(std::span<const Access> a, std::span<const Access> b, Symbol var,
                         const Extents& extents, const LoopProgram& program) {
  for (const Access& x : a) {
    for (const Access& y : b) {
      if (x.buffer != y.buffer || !conflict(x.kind, y.kind)) continue;
      const std::string reason = meeting(x, y, var, extents);
      if (!reason.empty())
        return Verdict::no(str_cat(program.buffers[x.buffer].name, ": ", reason));
    }
  }
  return Verdict::yes();
}

}  // namespace inductor
