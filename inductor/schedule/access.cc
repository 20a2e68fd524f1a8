#include "inductor/schedule/access.h"

#include <algorithm>
#include <cstdlib>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

std::vector<Bounds> bounds_of_all(std::span<const Expr> values, Loops around) {
  std::vector<Bounds> all;
  for (Expr e : values) all.push_back(inductor::bounds_of(e, around));
  return all;
}

// The index with t0, t1, ... called t(by), t(by + 1), ...
SymExpr with_moved_symbols(const Access& a, size_t by) {
  SymbolMap map;
  for (size_t k = 0; k < a.symbol_bounds.size(); ++k)
    map[{'t', static_cast<int32_t>(k)}] = SymExpr::symbol({'t', static_cast<int32_t>(k + by)});
  return map.empty() ? a.index : a.index.substitute(map);
}

bool conflict(const Access& a, const Access& b) {
  return a.buffer == b.buffer && inductor::conflict(a.kind, b.kind);
}

bool conflicts_with_any(const Access& a, std::span<const Access> all) {
  return std::any_of(all.begin(), all.end(), [&](const Access& b) { return conflict(a, b); });
}

// Empty when no two iterations meet.
std::string meeting(const Access& a, const Access& b, Symbol var, const Extents& extents) {
  const auto ca = a.index.coefficient(var), cb = b.index.coefficient(var);
  if (!ca || !cb) return "an index is not linear in the loop";
  if (*ca != *cb) return "indices advance by different steps";
  if (*ca == 0) return "every iteration uses the same elements";
  const SymExpr step = *ca * SymExpr::symbol(var);
  std::vector<Bounds> symbols = a.symbol_bounds;
  symbols.insert(symbols.end(), b.symbol_bounds.begin(), b.symbol_bounds.end());
  const Bounds between = bounds_of(
      (a.index - step) - (with_moved_symbols(b, a.symbol_bounds.size()) - step), symbols, extents);
  const int64_t stride = std::abs(*ca);
  if (between.low > -stride && between.high < stride) return "";
  return "an iteration reaches into another's elements";
}

}  // namespace

void add_extents(std::span<const Stmt> body, Extents& extents) {
  for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s)) extents[loop->var] = loop->extent;
  });
}

Bounds bounds_of(const SymExpr& index, std::span<const Bounds> symbol_bounds,
                 const Extents& extents) {
  return aten_bridge::bounds(index, [&](Symbol s) -> Bounds {
    if (s.kind == 's') return {0, Bounds().high};
    if (s.kind == 't')
      return s.index < static_cast<int>(symbol_bounds.size()) ? symbol_bounds[s.index] : Bounds();
    const auto it = extents.find(s);
    if (it == extents.end()) return Bounds();
    const Bounds extent = bounds_of(it->second, {}, extents);
    if (extent.high == Bounds().high) return {0, extent.high};
    return {0, std::max<int64_t>(0, extent.high - 1)};
  });
}

bool is_bounded(const Bounds& b) { return b.low != Bounds().low && b.high != Bounds().high; }

std::vector<Access> accesses_of_leaf(const Stmt& leaf, std::span<const Loop* const> around) {
  std::vector<Access> out;
  for (Expr e : loads(leaf))
    out.push_back({e.buffer(), e.index(), AccessKind::kRead, bounds_of_all(e.args(), around)});
  Access written{written_buffer(leaf), written_index(leaf), AccessKind::kWrite, {}};
  if (const auto* scatter = std::get_if<Scatter>(&leaf)) {
    written.kind = AccessKind::kScatter;
    written.symbol_bounds = bounds_of_all(scatter->symbol_values, around);
  }
  out.push_back(std::move(written));
  return out;
}

std::vector<Access> accesses(std::span<const Stmt> body) {
  std::vector<Access> out;
  for_each_leaf(body, [&](std::span<const Loop* const> around, const Stmt& leaf) {
    for (Access& a : accesses_of_leaf(leaf, around)) out.push_back(std::move(a));
  });
  return out;
}

std::vector<Access> accesses(const Stmt& stmt) { return accesses({&stmt, 1}); }

bool conflict(AccessKind a, AccessKind b) {
  if (a == AccessKind::kScatter || b == AccessKind::kScatter) return true;
  return a != b;  // one reads, one writes
}

void keep_conflicts(std::vector<Access>& a, std::vector<Access>& b) {
  std::erase_if(a, [&](const Access& x) { return !conflicts_with_any(x, b); });
  std::erase_if(b, [&](const Access& y) { return !conflicts_with_any(y, a); });
}

void substitute(std::vector<Access>& all, const SymbolMap& map) {
  for (Access& a : all) a.index = a.index.substitute(map);
}

bool depends(const Stmt& a, const Stmt& b) {
  const std::vector<Access> all = accesses(b);
  for (const Access& x : accesses(a))
    if (conflicts_with_any(x, all)) return true;
  return false;
}

Verdict share_iterations(std::span<const Access> a, std::span<const Access> b, Symbol var,
                         const Extents& extents, const LoopProgram& program) {
  for (const Access& x : a) {
    for (const Access& y : b) {
      if (!conflict(x, y)) continue;
      const std::string reason = meeting(x, y, var, extents);
      if (!reason.empty())
        return Verdict::no(str_cat(program.buffers[x.buffer].name, ": ", reason));
    }
  }
  return Verdict::yes();
}

}  // namespace inductor
