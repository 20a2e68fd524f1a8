#include "inductor/schedule/lane_map.h"

#include <algorithm>
#include <span>
#include <vector>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"

namespace inductor {
namespace {

constexpr int kAccessBytes = 16;

using LoopsByExtent = HashMap<SymExpr, std::vector<const Loop*>>;

LoopsByExtent vector_loops(std::span<const Stmt> body) {
  LoopsByExtent loops;
  for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s); loop && loop->vector)
      loops[loop->extent].push_back(loop);
  });
  return loops;
}

int elements_of_access(const Buffer& buffer) {
  return std::min(kMostWide,
                  kAccessBytes / static_cast<int>(aten_bridge::size_in_bytes(buffer.type.dtype)));
}

// The widest access that every walking index of the loop is aligned for; 0: it has none.
int width_of(const LoopProgram& program, const Loop& loop, int lanes) {
  const auto extent = loop.extent.constant();
  if (!extent) return 1;
  int width = 0;
  std::vector<SymExpr> walks;
  for (const Stmt& leaf : loop.body) {
    for (const Access& a : accesses(leaf)) {
      const Buffer& buffer = program.buffers[a.buffer];
      if (buffer.role == BufferRole::kLocal || a.kind == AccessKind::kScatter) continue;
      if (a.index.coefficient(loop.var) != 1) continue;
      walks.push_back(a.index);
      width = std::max(width, elements_of_access(buffer));
    }
  }
  if (walks.empty()) return 0;
  const auto fits = [&](int w) {
    const LaneMap map{loop.extent, w};
    return *extent % w == 0 && *extent * 2 > int64_t{w} * lanes &&
           std::all_of(walks.begin(), walks.end(),
                       [&](const SymExpr& index) { return map.is_wide(index, loop.var); });
  };
  while (width > 1 && !fits(width)) width /= 2;
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
std::optional<Rows> rows_of(const LoopProgram& program, std::span<const Loop* const> loops) {
  Rows rows;
  for (const Loop* loop : loops) {
    for (const Stmt& leaf : loop->body) {
      const bool keeps_columns =
          std::holds_alternative<Reduce>(leaf) && written_index(leaf).mentions(loop->var);
      if (keeps_columns || std::holds_alternative<Scatter>(leaf)) return std::nullopt;
      for (const Access& a : accesses(leaf)) {
        const Buffer& buffer = program.buffers[a.buffer];
        if (buffer.role == BufferRole::kLocal || a.index.coefficient(loop->var) != 1) continue;
        const SymExpr begin = a.index.substitute({{loop->var, 0}});
        const std::vector<Symbol> symbols = begin.symbols();
        if (std::any_of(symbols.begin(), symbols.end(), [](Symbol s) { return s.kind == 't'; }))
          return std::nullopt;
        rows.width = std::max(rows.width, elements_of_access(buffer));
        if (a.kind != AccessKind::kRead || !symbols.empty()) rows.begins.push_back(begin);
      }
    }
  }
  return rows.begins.empty() ? std::nullopt : std::optional(std::move(rows));
}

// Pieces of four times the width that `plain` has, or more, in rows that begin anywhere.
std::optional<LaneMap> between_ends(const LoopProgram& program, std::span<const Loop* const> loops,
                                    const LaneMap& plain, int lanes) {
  constexpr int64_t kLeastPieces = 128;  // of a row that threads divide on their own
  const bool flat = loops[0]->parallel;
  const auto extent = plain.extent.constant();
  const auto rows = extent ? rows_of(program, loops) : std::nullopt;
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

LaneMaps lane_maps(const LoopProgram& program, const Kernel& kernel) {
  LaneMaps maps;
  for (const auto& [extent, loops] : vector_loops(kernel.body)) {
    LaneMap& map = maps.try_emplace(extent, LaneMap{extent, kMostWide}).first->second;
    bool walks = false;
    for (const Loop* loop : loops) {
      const int width = width_of(program, *loop, loop->parallel ? 1 : kernel.lanes);
      if (width > 0) map.width = std::min(map.width, width);
      walks |= width > 0;
    }
    if (!walks) map.width = 1;
    if (auto cut = between_ends(program, loops, map, kernel.lanes)) {
      map = *std::move(cut);
      continue;
    }
    const auto n = extent.constant();
    if (!n) continue;
    const int64_t step = int64_t{map.width} * kernel.lanes;
    map.chunks = std::max<int64_t>(1, (*n + step - 1) / step);
    map.is_exact = *n == *map.chunks * step;
  }
  return maps;
}

}  // namespace inductor
