#include "inductor/schedule/fuse.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/nest.h"

namespace inductor {

using aten_bridge::str_cat;
using aten_bridge::Verdict;

namespace {

constexpr int64_t kLeastInner = 16;     // iterations left in an innermost loop that is split
constexpr int64_t kLeastParallel = 16;  // iterations left in a kernel's outermost loop
constexpr int64_t kSmall = 64 * 1024;   // work of kernels that one thread runs as well
constexpr int64_t kTiny = 256 * 1024;   // work of kernels that may join without sharing anything
constexpr size_t kMostBuffers = 48;     // of a kernel: more does not stay in registers and caches

bool is_innermost(const Loop& loop) {
  return std::none_of(loop.body.begin(), loop.body.end(),
                      [](const Stmt& s) { return std::holds_alternative<Loop>(s); });
}

class Merger {
 public:
  Merger(LoopProgram& program, const Features& features) : program_(program), features_(features) {}

  // Merges `nest` into `loop`; both are changed only when the answer is yes.
  Verdict merge(Loop& loop, Loop nest, int depth) {
    Loop target = loop;
    if (Verdict v = align(target, nest); !v) return v;
    if (depth == 0) {
      if (Verdict v = keeps_threads_busy(loop, target, nest); !v) return v;
    }
    rename(nest, target.var);
    Stmt both[] = {target, nest};
    Extents extents = outer_extents_;
    for (const Stmt& s : both) add_extents(s, extents);
    if (Verdict v =
            share_iterations(accesses(both[0]), accesses(both[1]), target.var, extents, program_);
        !v)
      return v;
    outer_extents_[target.var] = target.extent;
    if (nest.kind == LoopKind::kReduction) target.kind = LoopKind::kReduction;
    innermost_merged_ = target.var;
    for (Stmt& inner : nest.body) place(target.body, std::move(inner), depth + 1);
    loop = std::move(target);
    return Verdict::yes();
  }

  Symbol innermost_merged() const { return innermost_merged_; }

 private:
  // Splits the longer loop, so that both have one extent.
  Verdict align(Loop& a, Loop& b) {
    if (a.extent == b.extent) return Verdict::yes();
    const auto m = a.extent.constant(), n = b.extent.constant();
    const std::string differ = str_cat("loops differ: ", a.extent.str(), " and ", b.extent.str());
    if (!m || !n || *m <= 1 || *n <= 1) return Verdict::no(differ);
    Loop& longer = *m > *n ? a : b;
    const int64_t outer = std::min(*m, *n), inner = std::max(*m, *n) / outer;
    if (outer * inner != std::max(*m, *n)) return Verdict::no(differ);
    if (is_innermost(longer) && inner < kLeastInner) return Verdict::no(differ);
    split(longer, outer, inner);
    return Verdict::yes();
  }

  void split(Loop& loop, int64_t outer, int64_t inner) {
    Loop inside{fresh_variable(program_), inner, loop.kind, false, false, std::move(loop.body)};
    const SymExpr value = inner * SymExpr::symbol(loop.var) + SymExpr::symbol(inside.var);
    for (Stmt& s : inside.body) substitute(program_.pool, s, loop.var, value);
    loop.extent = outer;
    loop.body.clear();
    loop.body.push_back(std::move(inside));
  }

  void rename(Loop& loop, Symbol var) {
    for (Stmt& s : loop.body) substitute(program_.pool, s, loop.var, SymExpr::symbol(var));
    loop.var = var;
  }

  // A kernel's outermost loop is split over threads.
  Verdict keeps_threads_busy(const Loop& before, const Loop& target, const Loop& nest) const {
    Stmt both[] = {target, nest};
    const bool small = work(both[0]) + work(both[1]) < kSmall;
    if (target.kind != nest.kind && !small)
      return Verdict::no("a reduction over the outer loop of one");
    if (target.extent != before.extent &&
        target.extent.constant().value_or(kLeastParallel) < kLeastParallel && !small)
      return Verdict::no(str_cat("only ", target.extent.str(), " iterations in common"));
    return Verdict::yes();
  }

  // Into the last loop of `body` that takes it, moving up past what it does not depend on.
  void place(std::vector<Stmt>& body, Stmt stmt, int depth) {
    const auto* nest = std::get_if<Loop>(&stmt);
    for (size_t k = body.size(); nest && k-- > 0;) {
      auto* loop = std::get_if<Loop>(&body[k]);
      if (loop && is_worth_one_pass(*loop, *nest) && merge(*loop, *nest, depth)) return;
      if (depends(body[k], stmt)) break;
    }
    body.push_back(std::move(stmt));
  }

  bool is_worth_one_pass(const Loop& a, const Loop& b) const {
    return a.extent == b.extent || !(is_innermost(a) && is_innermost(b));
  }

  LoopProgram& program_;
  const Features& features_;
  Extents outer_extents_;
  Symbol innermost_merged_{'i', -1};
};

// Bytes of the buffers that both use, that one iteration of the innermost common loop touches.
int64_t shared_bytes_per_iteration(const LoopProgram& program, const std::vector<Stmt>& body,
                                   Symbol innermost, std::span<const int> shared) {
  Extents extents;
  for (const Stmt& s : body) add_extents(s, extents);
  absl::flat_hash_map<int, int64_t> span_of;
  for_each_leaf(body, [&](std::span<const Loop* const> around, const Stmt& leaf) {
    const auto common = std::find_if(around.begin(), around.end(),
                                     [&](const Loop* l) { return l->var == innermost; });
    if (common == around.end()) return;
    SymbolMap fixed;
    for (auto it = around.begin(); it <= common; ++it) fixed[(*it)->var] = 0;
    for (const Access& a : accesses_of_leaf(leaf, around)) {
      if (!std::binary_search(shared.begin(), shared.end(), a.buffer)) continue;
      const Bounds b = bounds_of(a.index.substitute(fixed), a.symbol_bounds, extents);
      int64_t& span = span_of[a.buffer];
      span = std::max(span, is_bounded(b) ? b.high - b.low + 1 : 1);
    }
  });
  int64_t bytes = 0;
  for (const auto& [buffer, span] : span_of)
    bytes += span * aten_bridge::size_in_bytes(program.buffers[buffer].type.dtype);
  return bytes;
}

std::vector<int> touched(const Stmt& stmt) {
  std::vector<int> all = buffers_read(stmt);
  for (int b : buffers_written(stmt)) all.push_back(b);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Fusion fuse(LoopProgram& program, const std::vector<Stmt>& body, const Stmt& nest,
            const Features& features) {
  Fusion out;
  out.body = body;
  auto* loop = std::get_if<Loop>(&out.body.back());
  const auto* other = std::get_if<Loop>(&nest);
  if (!other && work(body) < kSmall) {  // one element, after all that one thread does before
    out.body.push_back(nest);
    return out;
  }
  if (!loop || !other) {
    out.verdict = Verdict::no("no loop in common");
    return out;
  }
  std::vector<int> in_body, shared, in_nest = touched(nest);
  for (const Stmt& s : body)
    for (int b : touched(s)) in_body.push_back(b);
  std::sort(in_body.begin(), in_body.end());
  std::set_intersection(in_nest.begin(), in_nest.end(), in_body.begin(), in_body.end(),
                        std::back_inserter(shared));
  if (in_body.size() + in_nest.size() > kMostBuffers) {
    out.verdict = Verdict::no("too many buffers for one kernel");
    return out;
  }
  const bool alike = loop->extent == other->extent && loop->kind == other->kind;
  if (shared.empty() && !(alike && work(body) + work(nest) <= kTiny)) {
    out.verdict = Verdict::no("nothing in common");
    return out;
  }
  Merger merger(program, features);
  out.verdict = merger.merge(*loop, *other, 0);
  if (!out.verdict) return out;
  const int64_t bytes =
      shared_bytes_per_iteration(program, out.body, merger.innermost_merged(), shared);
  if (bytes > features.fast_memory_bytes)
    out.verdict =
        Verdict::no(str_cat("an iteration shares ", bytes, " bytes: more than fast memory holds"));
  return out;
}

}  // namespace inductor
