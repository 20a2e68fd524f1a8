// Who touches which elements: what decides whether two loops may become one.
//   std::vector<Access> a = accesses(loop), b = accesses(other);
//   Verdict v = share_iterations(a, b, i0);        // merged over i0, does each iteration stay
//   whole?
#pragma once

#include <span>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/verdict.h"
#include "aten_bridge/symbolic/bounds.h"
#include "inductor/ir/loop.h"
#include "inductor/ir/rewrite.h"

namespace inductor {

using aten_bridge::Bounds;
using aten_bridge::Verdict;

enum class AccessKind : uint8_t { kRead, kWrite, kScatter };

struct Access {
  int buffer;
  SymExpr index;
  AccessKind kind;
  std::vector<Bounds> symbol_bounds;  // of t0, t1, ... in the index: values read at run time
};

// Extents of loop variables. Variables are unique in a program, so one table serves all.
using Extents = HashMap<Symbol, SymExpr>;
void add_extents(std::span<const Stmt> body, Extents& extents);
Bounds bounds_of(const SymExpr& index, std::span<const Bounds> symbol_bounds,
                 const Extents& extents);
bool is_bounded(const Bounds& b);

// Of statements and everything inside; extern calls have none (see buffers_read and
// buffers_written).
std::vector<Access> accesses(std::span<const Stmt> body);
std::vector<Access> accesses(const Stmt& stmt);
std::vector<Access> accesses_of_leaf(const Stmt& leaf, std::span<const Loop* const> around);

// Whether two accesses to one buffer must keep their order. Statements that write disjoint parts
// of a buffer may change places; a scatter and anything else may not.
bool conflict(AccessKind a, AccessKind b);
// Drops what conflicts with nothing on the other side.
void keep_conflicts(std::vector<Access>& a, std::vector<Access>& b);
// Replaces variables in the indices.
void substitute(std::vector<Access>& all, const SymbolMap& map);
// Whether statements must keep their order.
bool depends(const Stmt& a, const Stmt& b);

// Given that the loops around are common to both: whatever one writes and the other uses in
// iteration `var`, no other iteration of `var` touches.
Verdict share_iterations(std::span<const Access> a, std::span<const Access> b, Symbol var,
                         const Extents& extents, const LoopProgram& program);

}  // namespace inductor
