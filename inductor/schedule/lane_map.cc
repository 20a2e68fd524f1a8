#include "inductor/schedule/lane_map.h"

#include <algorithm>
#include <span>
#include <vector>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"

namespace inductor {
namespace {

constexpr int kAccessBytes = 16;

int elements_of_access(const Buffer& buffer) {
  return std::min(kMostWide,
                  kAccessBytes / static_cast<int>(aten_bridge::size_in_bytes(buffer.type.dtype)));
}

bool walks(const Access& a, const Loop& loop) { return a.index.coefficient(loop.var) == 1; }

// How many iterations a lane takes together; 0: the loop walks along nothing.
int width_of(const VectorLoop& v, int lanes) {
  const auto extent = v.loop->extent.constant();
  if (!extent) return 1;
  int width = v.aligned;
  while (width > 1 && (*extent % width != 0 || *extent * 2 <= int64_t{width} * lanes)) width /= 2;
  // Half of the widest access is as good, and better where a fifth of the lanes would be idle.
  const auto steps = [&](int64_t w) { return (*extent + w * lanes - 1) / (w * lanes) * w * lanes; };
  if (width == kMostWide && steps(width) * 4 >= *extent * 5 && steps(width / 2) < steps(width))
    width /= 2;
  return width;
}

// Where rows of loops begin in memory, and the elements of the widest access; none where that is
// not known when a row begins, or where lanes keep sums of the columns. What is read of all rows
// alike may begin elsewhere: it is in the cache.
struct Rows {
  std::vector<SymExpr> begins;
  int width = 0;
};
std::optional<Rows> rows_of(std::span<const VectorLoop* const> loops) {
  Rows rows;
  for (const VectorLoop* v : loops) {
    for (const Stmt& leaf : v->loop->body) {
      const bool keeps_columns =
          std::holds_alternative<Reduce>(leaf) && written_index(leaf).mentions(v->loop->var);
      if (keeps_columns || std::holds_alternative<Scatter>(leaf)) return std::nullopt;
    }
    rows.width = std::max(rows.width, v->widest);
    for (const Access& a : v->accesses) {
      if (!walks(a, *v->loop)) continue;
      const SymExpr begin = a.index.substitute({{v->loop->var, 0}});
      const std::vector<Symbol> symbols = begin.symbols();
      if (std::any_of(symbols.begin(), symbols.end(), [](Symbol s) { return s.kind == 't'; }))
        return std::nullopt;
      if (a.kind != AccessKind::kRead || !symbols.empty()) rows.begins.push_back(begin);
    }
  }
  return rows.begins.empty() ? std::nullopt : std::optional(std::move(rows));
}

// Pieces of four times the width that `plain` has, or more, in rows that begin anywhere.
std::optional<LaneMap> between_ends(std::span<const VectorLoop* const> loops, const LaneMap& plain,
                                    int lanes) {
  constexpr int64_t kLeastPieces = 128;  // of a row that threads divide on their own
  const bool flat = loops[0]->loop->parallel;
  const auto extent = plain.extent.constant();
  const bool may_gain = std::any_of(loops.begin(), loops.end(), [&](const VectorLoop* v) {
    return v->widest >= 4 * plain.width;
  });
  const auto rows = extent && may_gain ? rows_of(loops) : std::nullopt;
  if (!rows) return std::nullopt;
  for (int width = rows->width; width >= 4 * plain.width; width /= 2) {
    const int64_t pieces = *extent / width;
    if (flat ? pieces < kLeastPieces : pieces < 2 * lanes || lanes < 2 * width) continue;
    LaneMap map{plain.extent, width, (pieces + lanes - 1) / lanes, false,
                mod(-1 * rows->begins[0], width)};
    if (std::all_of(rows->begins.begin(), rows->begins.end(), [&](const SymExpr& begin) {
          return mod(begin + *map.head, width) == SymExpr(0);
        }))
      return map;
  }
  return std::nullopt;
}

}  // namespace

bool LaneMap::is_wide(const SymExpr& index, Symbol variable) const {
  return index.coefficient(variable) == 1 &&
         mod(index.substitute({{variable, head.value_or(0)}}), width) == SymExpr(0);
}

SymExpr row_place(const LaneMap& map) {
  SymExpr place = 0;
  if (*map.chunks > 1) place = map.width * SymExpr::symbol({'k', 0});
  if (map.width > 1) place += SymExpr::symbol({'l', 0});
  return place;
}

VectorLoops vector_loops(const LoopProgram& program, const Kernel& kernel) {
  VectorLoops found;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s);
    if (!loop || !loop->vector) return;
    VectorLoop v{loop, accesses(loop->body)};
    std::erase_if(v.accesses, [&](const Access& a) {
      return program.buffers[a.buffer].role == BufferRole::kLocal;
    });
    std::vector<const SymExpr*> walking;
    for (const Access& a : v.accesses) {
      if (a.kind == AccessKind::kScatter || !walks(a, *loop)) continue;
      v.widest = std::max(v.widest, elements_of_access(program.buffers[a.buffer]));
      walking.push_back(&a.index);
    }
    v.aligned = v.widest;
    for (const SymExpr* index : walking)
      while (v.aligned > 1 && !LaneMap{loop->extent, v.aligned}.is_wide(*index, loop->var))
        v.aligned /= 2;
    found.push_back(std::move(v));
  });
  return found;
}

LaneMaps lane_maps(const VectorLoops& loops, int lanes) {
  HashMap<SymExpr, std::vector<const VectorLoop*>> by_extent;
  for (const VectorLoop& v : loops) by_extent[v.loop->extent].push_back(&v);
  LaneMaps maps;
  for (const auto& [extent, alike] : by_extent) {
    LaneMap& map = maps.try_emplace(extent, LaneMap{extent, kMostWide}).first->second;
    bool any_walks = false;
    for (const VectorLoop* v : alike) {
      const int width = width_of(*v, v->loop->parallel ? 1 : lanes);
      if (width > 0) map.width = std::min(map.width, width);
      any_walks |= width > 0;
    }
    if (!any_walks) map.width = 1;
    if (auto cut = between_ends(alike, map, lanes)) {
      map = *std::move(cut);
      continue;
    }
    const auto n = extent.constant();
    if (!n) continue;
    const int64_t step = int64_t{map.width} * lanes;
    map.chunks = std::max<int64_t>(1, (*n + step - 1) / step);
    map.is_exact = *n == *map.chunks * step;
  }
  return maps;
}

LaneMaps lane_maps(const LoopProgram& program, const Kernel& kernel) {
  return lane_maps(vector_loops(program, kernel), kernel.lanes);
}

}  // namespace inductor
