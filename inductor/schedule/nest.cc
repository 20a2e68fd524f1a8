#include "inductor/schedule/nest.h"

#include <algorithm>
#include <cstdlib>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/cost.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

Parts take_apart(Stmt stmt) {
  Parts parts;
  while (auto* loop = std::get_if<Loop>(&stmt)) {
    Stmt inner = std::move(loop->body[0]);
    loop->body.clear();
    parts.loops.push_back(std::move(*loop));
    stmt = std::move(inner);
  }
  parts.leaf = std::move(stmt);
  return parts;
}

// Programs may use one variable in many nests; here a variable is one loop.
void make_variables_unique(LoopProgram& program, Parts& parts) {
  for (Loop& loop : parts.loops) {
    const Symbol fresh = fresh_variable(program);
    substitute(program.pool, parts.leaf, loop.var, SymExpr::symbol(fresh));
    loop.var = fresh;
  }
}

void drop_unit_loops(ExprPool& pool, Parts& parts) {
  bool reduces = false;
  std::erase_if(parts.loops, [&](const Loop& loop) {
    if (loop.extent != SymExpr(1)) {
      reduces |= loop.kind == LoopKind::kReduction;
      return false;
    }
    substitute(pool, parts.leaf, loop.var, 0);
    return true;
  });
  if (const auto* r = std::get_if<Reduce>(&parts.leaf); r && !reduces)
    parts.leaf = Store{r->buffer, r->index, r->value};
}

// How far an index moves with one iteration: where it is no multiple of the variable (the window of
// a pooling, which is cut at the edges), on average in the middle of the loops. 0 where sizes that
// are not known decide.
int64_t step_of(const SymExpr& index, const Loop& loop, std::span<const Loop> loops) {
  if (const auto step = index.coefficient(loop.var)) return *step;
  const std::vector<Symbol> symbols = index.symbols();
  if (std::any_of(symbols.begin(), symbols.end(), [](Symbol s) { return s.kind == 's'; })) return 0;
  const auto at = [&](int64_t shift) {
    return index.evaluate([&](Symbol s) -> int64_t {
      for (const Loop& l : loops)
        if (l.var == s) return trip_count(l) / 2 + (s == loop.var ? shift : 0);
      return 0;
    });
  };
  const int64_t half = std::max<int64_t>(1, trip_count(loop) / 4);
  return (at(0) - at(-half)) / half;
}

// How far apart in memory a loop's iterations are, by the accesses that matter: what a store
// writes, what a reduction reads.
int64_t distance(const Loop& loop, const Parts& parts) {
  int64_t most = 0;
  for (const Access& a : accesses(parts.leaf)) {
    const bool matters = (a.kind == AccessKind::kRead) != std::holds_alternative<Store>(parts.leaf);
    if (matters) most = std::max(most, std::abs(step_of(a.index, loop, parts.loops)));
  }
  return most;
}

constexpr int64_t kFewElements = 64;  // the window of a pooling

int64_t reduced_elements(const Parts& parts) {
  int64_t count = 1;
  for (const Loop& l : parts.loops)
    if (l.kind == LoopKind::kReduction) count *= trip_count(l);
  return count;
}

// Whether a reduction walks along the innermost loop's row: a window that slides over it.
bool is_slid(std::span<const std::pair<int64_t, Loop>> loops) {
  if (loops.empty()) return false;
  const auto& [step, innermost] = loops.back();
  return std::any_of(loops.begin(), loops.end(), [&, row = step * trip_count(innermost)](auto& l) {
    return l.second.kind == LoopKind::kReduction && l.first < row;
  });
}

void order(Parts& parts, const Features& features) {
  if (std::holds_alternative<Scatter>(parts.leaf)) return;  // keeps the order of its sums
  std::vector<std::pair<int64_t, Loop>> loops;
  for (const Loop& loop : parts.loops) loops.emplace_back(distance(loop, parts), loop);
  std::stable_sort(loops.begin(), loops.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool slides = features.has_lanes && is_slid(loops);
  for (size_t k = 0; k < loops.size(); ++k) parts.loops[k] = std::move(loops[k].second);
  if (!std::holds_alternative<Reduce>(parts.leaf) || parts.loops.empty()) return;
  // Where memory is walked along a reduction, one element is reduced after the other, in registers;
  // where few elements are reduced, a row of them. On a GPU windows of neighbours that overlap are
  // a thread's each.
  auto end = parts.loops.end();
  if (end[-1].kind == LoopKind::kSerial) {
    if (reduced_elements(parts) > kFewElements) return;
    if (!slides) --end;
  }
  std::stable_partition(parts.loops.begin(), end,
                        [](const Loop& l) { return l.kind == LoopKind::kSerial; });
}

// outer * extent + inner as one loop: every index advances as far for one step of the outer loop as
// for all steps of the inner one.
bool is_one_walk(const Loop& outer, const Loop& inner, std::span<const Stmt> body) {
  const auto steps = inner.extent.constant();
  if (!steps || outer.kind != inner.kind) return false;
  const auto fits = [&](const SymExpr& index) {
    const auto a = index.coefficient(outer.var), b = index.coefficient(inner.var);
    return a && b && *a == *steps * *b;
  };
  bool all = true;
  for_each_stmt(body, [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<Loop>(&stmt)) {
      all &= !loop->extent.mentions(outer.var) && !loop->extent.mentions(inner.var);
      return;
    }
    all &= fits(written_index(stmt));
    const std::vector<Expr> roots = expressions(stmt);
    for_each_node(roots, [&](Expr e) {
      if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) all &= fits(e.index());
    });
  });
  return all && !inner.extent.mentions(outer.var);
}

// ---- Chunks ----

constexpr int64_t kWorthCutting = 16 * 1024;  // iterations
constexpr int64_t kLeastRows = 16;            // of a chunk
constexpr int64_t kLeastPerChunk = 2048;      // iterations

// buffer[...] += x over r  becomes  partial[c, ...] += x over r within chunk c;
// buffer[...] += partial[c, ...] over c.
std::vector<Parts> cut_reduction(LoopProgram& program, Parts parts, const Features& features) {
  auto* reduce = std::get_if<Reduce>(&parts.leaf);
  const int64_t count = reduce ? chunk_count(parts, features) : 1;
  std::vector<Parts> result;
  if (count == 1) {
    result.push_back(std::move(parts));
    return result;
  }
  const Buffer whole = program.buffers[reduce->buffer];  // grows below
  const int partial = static_cast<int>(program.buffers.size());
  const Symbol chunk = fresh_variable(program), sum_chunk = fresh_variable(program);
  const int64_t rows = parts.loops[0].extent.as_constant() / count;

  // One chunk's results lie together, in the order of the loops.
  Parts sum;
  sum.loops.push_back(Loop{sum_chunk, count, LoopKind::kReduction});
  std::vector<SymExpr> sizes{count};
  SymExpr at = 0, sum_at = 0, sum_index = reduce->index;
  for (const Loop& loop : parts.loops) {
    if (loop.kind == LoopKind::kReduction) continue;
    const Symbol var = fresh_variable(program);
    sum.loops.push_back(Loop{var, loop.extent});
    sizes.push_back(loop.extent);
    at = at * loop.extent + SymExpr::symbol(loop.var);
    sum_at = sum_at * loop.extent + SymExpr::symbol(var);
    sum_index = sum_index.substitute({{loop.var, SymExpr::symbol(var)}});
  }
  const SymExpr size = aten_bridge::product({sizes.begin() + 1, sizes.end()});
  TensorType type{whole.type.dtype, whole.type.device, sizes,
                  aten_bridge::contiguous_strides(sizes)};
  program.buffers.push_back({str_cat(whole.name, "_partial"), type, BufferRole::kTemporary});
  sum.leaf = Reduce{
      reduce->buffer, sum_index, reduce->op,
      program.pool.load(partial, SymExpr::symbol(sum_chunk) * size + sum_at, whole.type.dtype)};

  const SymExpr row = SymExpr::symbol(chunk) * rows + SymExpr::symbol(parts.loops[0].var);
  substitute(program.pool, parts.leaf, parts.loops[0].var, row);
  reduce = std::get_if<Reduce>(&parts.leaf);
  reduce->buffer = partial;
  reduce->index = SymExpr::symbol(chunk) * size + at;
  parts.loops[0].extent = rows;
  parts.loops.insert(parts.loops.begin(), Loop{chunk, count});
  // Lanes keep one row of sums in registers: of several rows each is walked over by itself.
  if (features.has_lanes)
    std::stable_partition(parts.loops.begin(), parts.loops.end() - 1,
                          [](const Loop& l) { return l.kind == LoopKind::kSerial; });
  result.push_back(std::move(parts));
  result.push_back(std::move(sum));
  return result;
}

}  // namespace

Symbol fresh_variable(LoopProgram& program) { return {'i', program.next_var++}; }

void substitute(ExprPool& pool, Stmt& stmt, Symbol var, const SymExpr& value) {
  const SymbolMap map{{var, value}};
  if (auto* loop = std::get_if<Loop>(&stmt)) {
    loop->extent = loop->extent.substitute(map);
    for (Stmt& inner : loop->body) substitute(pool, inner, var, value);
    return;
  }
  rewrite_leaf(
      stmt, [&](Expr e) { return inductor::substitute(pool, e, map); },
      [&](const SymExpr& index) { return index.substitute(map); });
}

void collapse(LoopProgram& program, Stmt& stmt) {
  auto* outer = std::get_if<Loop>(&stmt);
  if (!outer) return;
  for (Stmt& inner : outer->body) collapse(program, inner);
  if (outer->body.size() != 1) return;
  auto* inner = std::get_if<Loop>(&outer->body[0]);
  if (!inner || !is_one_walk(*outer, *inner, inner->body)) return;
  const Symbol dropped = outer->var;
  Loop merged = std::move(*inner);
  merged.extent = outer->extent * merged.extent;
  for (Stmt& s : merged.body) substitute(program.pool, s, dropped, 0);
  stmt = std::move(merged);
}

Stmt put_together(Parts parts) {
  Stmt stmt = std::move(parts.leaf);
  for (size_t i = parts.loops.size(); i-- > 0;) {
    parts.loops[i].body.clear();
    parts.loops[i].body.push_back(std::move(stmt));
    stmt = std::move(parts.loops[i]);
  }
  return stmt;
}

// Depends on the shape alone, so that results do not depend on the number of threads.
int64_t chunk_count(const Parts& parts, const Features& features) {
  if (parts.loops.empty() || parts.loops[0].kind != LoopKind::kReduction) return 1;
  int64_t all = 1, rows = 1;
  for (const Loop& loop : parts.loops) {
    const int64_t extent = loop.extent.constant().value_or(1);
    all *= extent;
    if (loop.kind == LoopKind::kReduction) rows *= extent;
  }
  if (all < kWorthCutting || rows <= features.most_chunks)
    return 1;  // no more than chunks would be
  const int64_t outermost = parts.loops[0].extent.constant().value_or(1);
  const int64_t most =
      std::min({features.most_chunks, outermost, rows / kLeastRows, all / kLeastPerChunk});
  for (int64_t count = most; count > 1; --count)
    if (outermost % count == 0) return count;
  return 1;
}

Parts in_order(LoopProgram& program, Stmt nest, const Features& features) {
  Parts parts = take_apart(std::move(nest));
  make_variables_unique(program, parts);
  drop_unit_loops(program.pool, parts);
  order(parts, features);
  Stmt whole = put_together(std::move(parts));
  collapse(program, whole);
  return take_apart(std::move(whole));
}

std::vector<LoopNest> normalize(LoopProgram& program, LoopNest nest, const Features& features) {
  std::vector<LoopNest> nests;
  for (Parts& p :
       cut_reduction(program, in_order(program, std::move(nest.stmt), features), features))
    nests.push_back({put_together(std::move(p)), nest.origin});
  return nests;
}

}  // namespace inductor
