#include "inductor/schedule/fuse.h"

#include <algorithm>
#include <optional>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/follow.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/columns.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/lanes.h"
#include "inductor/schedule/nest.h"

namespace inductor {

using aten_bridge::str_cat;
using aten_bridge::Verdict;

namespace {

constexpr int64_t kLeastInner = 16;          // iterations left in an innermost loop that is split
constexpr int64_t kMostColumns = 32 * 1024;  // of which lanes keep what they reduce

int64_t work_of(const Loop& loop) { return trip_count(loop) * work(loop.body); }

// How two loops get one extent: the longer one is split.
struct Alignment {
  Verdict verdict = Verdict::yes();
  SymExpr extent;     // in common
  int64_t inner = 1;  // what is left of the longer one
  bool splits_first = false, splits_second = false;
};

Alignment align(const Loop& a, const Loop& b) {
  Alignment out;
  out.extent = a.extent;
  if (a.extent == b.extent) return out;
  out.verdict = Verdict::no(str_cat("loops differ: ", a.extent.str(), " and ", b.extent.str()));
  const auto m = a.extent.constant(), n = b.extent.constant();
  if (!m || !n || *m <= 1 || *n <= 1) return out;
  const int64_t outer = std::min(*m, *n);
  out.extent = outer;
  out.inner = std::max(*m, *n) / outer;
  out.splits_first = *m > *n;
  out.splits_second = !out.splits_first;
  const bool divides = out.inner * outer == std::max(*m, *n);
  if (divides && (out.inner >= kLeastInner || !is_innermost(*m > *n ? a : b)))
    out.verdict = Verdict::yes();
  return out;
}

class Merger {
 public:
  Merger(LoopProgram& program, const Features& features)
      : program_(program), has_lanes_(features.has_lanes) {}

  // Whether `nest` can merge with `loop`, given the loops merged around them.
  Verdict allows(const Loop& loop, const Loop& nest) const {
    const Alignment alignment = align(loop, nest);
    if (!alignment.verdict) return alignment.verdict;
    std::vector<Access> ours = accesses(loop.body), theirs = accesses(nest.body);
    if (const auto extremum = followed(loop, nest)) {
      const auto is_its = [&](const Access& a) { return a.buffer == *extremum; };
      std::erase_if(ours, is_its);
      std::erase_if(theirs, is_its);
      keep_conflicts(ours, theirs);
      return ours.empty() ? Verdict::yes() : Verdict::no("more than an extremum in common");
    }
    keep_conflicts(ours, theirs);
    if (ours.empty()) return Verdict::yes();
    // As if both were split and named alike.
    const Symbol rest{'i', program_.next_var}, other_rest{'i', program_.next_var + 1};
    Extents extents = outer_extents_;
    add_extents(loop.body, extents);
    add_extents(nest.body, extents);
    extents[loop.var] = alignment.extent;
    for (const Symbol inner : {rest, other_rest}) extents[inner] = alignment.inner;
    const SymExpr var = SymExpr::symbol(loop.var);
    const auto value = [&](bool splits, Symbol inner) {
      return splits ? alignment.inner * var + SymExpr::symbol(inner) : var;
    };
    substitute(ours, {{loop.var, value(alignment.splits_first, rest)}});
    substitute(theirs, {{nest.var, value(alignment.splits_second, other_rest)}});
    return share_iterations(ours, theirs, loop.var, extents, program_);
  }

  // Does it; the answer of `allows` was yes.
  void merge(Loop& loop, Loop nest) {
    const Alignment alignment = align(loop, nest);
    if (alignment.splits_first) split(loop, alignment.inner);
    if (alignment.splits_second) split(nest, alignment.inner);
    outer_extents_[loop.var] = loop.extent;
    innermost_ = loop.var;
    if (nest.kind == LoopKind::kReduction) loop.kind = LoopKind::kReduction;
    for (Stmt& inner : nest.body) {
      substitute(program_.pool, inner, nest.var, SymExpr::symbol(loop.var));
      place(loop.body, std::move(inner));
    }
  }

  // The last loop that was merged.
  Symbol innermost() const { return innermost_; }

 private:
  // The buffer of the extremum that `nest` follows (ir/follow.h), where one pass over both pays:
  // over a row that no registers hold, or over rows whose columns lanes keep.
  std::optional<int> followed(const Loop& loop, const Loop& nest) const {
    if (!has_lanes_ || loop.kind != LoopKind::kReduction) return std::nullopt;
    SymbolMap map;
    const Loop *ours = &loop, *theirs = &nest;
    for (;;) {
      if (ours->extent != theirs->extent || ours->kind != theirs->kind ||
          !ours->extent.is_constant())
        return std::nullopt;
      map[theirs->var] = SymExpr::symbol(ours->var);
      if (is_innermost(*ours)) break;
      if (ours->kind != LoopKind::kReduction) return std::nullopt;
      ours = only_loop(ours->body);
      theirs = only_loop(theirs->body);
      if (!ours || !theirs) return std::nullopt;
    }
    const auto* reduce = theirs->body.size() == 1 ? std::get_if<Reduce>(&theirs->body[0]) : nullptr;
    if (!reduce) return std::nullopt;
    const bool has_columns = ours->kind == LoopKind::kSerial;
    if (has_columns ? trip_count(*ours) > kMostColumns : row_fits_registers(ours->extent))
      return std::nullopt;
    const Reduce follower{reduce->buffer, reduce->index.substitute(map), reduce->op,
                          inductor::substitute(program_.pool, reduce->value, map)};
    for (const Stmt& stmt : ours->body) {
      const auto* leader = std::get_if<Reduce>(&stmt);
      const auto f = leader ? following(follower, *leader) : std::nullopt;
      if (!f || follower_of(ours->body, *leader)) continue;
      if (has_columns && f->what == Following::What::kExponentials) continue;
      return leader->buffer;
    }
    return std::nullopt;
  }

  void split(Loop& loop, int64_t inner) {
    Loop inside{fresh_variable(program_), inner, loop.kind, false, false, std::move(loop.body)};
    const SymExpr value = inner * SymExpr::symbol(loop.var) + SymExpr::symbol(inside.var);
    for (Stmt& s : inside.body) substitute(program_.pool, s, loop.var, value);
    loop.extent = loop.extent.as_constant() / inner;
    loop.body.clear();
    loop.body.push_back(std::move(inside));
  }

  // Into the last loop of `body` that takes it, moving up past what it does not depend on.
  void place(std::vector<Stmt>& body, Stmt stmt) {
    auto* nest = std::get_if<Loop>(&stmt);
    for (size_t k = body.size(); nest && k-- > 0;) {
      auto* loop = std::get_if<Loop>(&body[k]);
      const bool one_pass =
          loop && (loop->extent == nest->extent || !(is_innermost(*loop) && is_innermost(*nest)));
      if (one_pass && allows(*loop, *nest)) return merge(*loop, std::move(*nest));
      if (depends(body[k], stmt)) break;
    }
    body.push_back(std::move(stmt));
  }

  LoopProgram& program_;
  const bool has_lanes_;
  Extents outer_extents_;
  Symbol innermost_{'i', -1};
};

// A kernel's outermost loop is split over threads.
Verdict keeps_threads_busy(const Loop& loop, const Loop& nest, const Features& features) {
  if (work_of(loop) + work_of(nest) < features.small_work) return Verdict::yes();
  if (loop.kind != nest.kind) return Verdict::no("a reduction over the outer loop of one");
  const Alignment alignment = align(loop, nest);
  if (alignment.splits_first &&
      alignment.extent.constant().value_or(features.least_parallel) < features.least_parallel)
    return Verdict::no(str_cat("only ", alignment.extent.str(), " iterations in common"));
  return Verdict::yes();
}

// Bytes of the shared buffers that one iteration of the innermost common loop touches.
int64_t shared_bytes_per_iteration(const LoopProgram& program, const std::vector<Stmt>& body,
                                   Symbol innermost, std::span<const int> shared) {
  Extents extents;
  add_extents(body, extents);
  HashMap<int, int64_t> span_of;
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

// Where a block has a few columns of all.
int64_t of_a_block(const LoopProgram& program, const std::vector<Stmt>& body, int64_t bytes) {
  const std::vector<Stmt>* inside = &body;
  for (const Loop* l = only_loop(*inside); l && l->kind == LoopKind::kSerial;
       l = only_loop(*inside))
    inside = &l->body;
  const std::optional<int64_t> columns = common_columns(program, *inside);
  return columns && *columns > kColumnsOfBlock ? bytes / (*columns / kColumnsOfBlock) : bytes;
}

// Where the last loop of a kernel is that `nest` may merge with: what stands behind it must not
// matter.
std::optional<size_t> last_loop(const std::vector<Stmt>& body, const Stmt& nest) {
  for (size_t k = body.size(); k-- > 0;) {
    if (std::holds_alternative<Loop>(body[k])) return k;
    if (depends(body[k], nest)) break;
  }
  return std::nullopt;
}

Fusion merge(LoopProgram& program, const std::vector<Stmt>& body, const Stmt& nest,
             std::span<const int> shared, const Features& features) {
  const auto* other = std::get_if<Loop>(&nest);
  if (!other &&
      work(body) < features.small_work) {  // one element, after all that one thread does before
    Fusion out{Verdict::yes(), body};
    out.body.push_back(nest);
    return out;
  }
  const std::optional<size_t> at = other ? last_loop(body, nest) : std::nullopt;
  if (!at) return {Verdict::no("no loop in common"), {}};
  const auto* loop = std::get_if<Loop>(&body[*at]);
  const bool alike = loop->extent == other->extent && loop->kind == other->kind;
  if (shared.empty() && !(alike && work(body) + work(nest) <= features.tiny_work))
    return {Verdict::no("nothing in common"), {}};
  Merger merger(program, features);
  if (Verdict v = keeps_threads_busy(*loop, *other, features); !v) return {v, {}};
  if (Verdict v = merger.allows(*loop, *other); !v) return {v, {}};

  Fusion out{Verdict::yes(), body};
  merger.merge(std::get<Loop>(out.body[*at]), *other);
  int64_t bytes = shared_bytes_per_iteration(program, out.body, merger.innermost(), shared);
  if (bytes > features.fast_memory_bytes && features.has_lanes)
    bytes = of_a_block(program, out.body, bytes);
  if (bytes > features.fast_memory_bytes)
    out.verdict =
        Verdict::no(str_cat("an iteration shares ", bytes, " bytes: more than fast memory holds"));
  return out;
}

}  // namespace

Fusion fuse(LoopProgram& program, const std::vector<Stmt>& body, const Stmt& nest,
            std::span<const int> shared, const Features& features) {
  Fusion merged = merge(program, body, nest, shared, features);
  if (merged.verdict || !features.has_lanes || shared.empty()) return merged;
  Fusion beside{Verdict::yes(), body};
  beside.body.push_back(nest);
  return common_columns(program, beside.body) ? std::move(beside) : std::move(merged);
}

}  // namespace inductor
