#include "inductor/schedule/lane_map.h"

#include <algorithm>
#include <functional>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"

namespace inductor {
namespace {

constexpr int kAccessBytes = 16;

void for_each_vector_loop(std::span<const Stmt> body,
                          const std::function<void(const Loop&)>& visit) {
  for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s); loop && loop->vector) visit(*loop);
  });
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
      width = std::max(
          width, kAccessBytes / static_cast<int>(aten_bridge::size_in_bytes(buffer.type.dtype)));
    }
  }
  if (walks.empty()) return 0;
  width = std::min(width, kMostWide);
  const auto fits = [&](int w) {
    return *extent % w == 0 && *extent * 2 > int64_t{w} * lanes &&
           std::all_of(walks.begin(), walks.end(),
                       [&](const SymExpr& index) { return is_wide(index, loop.var, w); });
  };
  while (width > 1 && !fits(width)) width /= 2;
  // Half of the widest access is as good, and better where a fifth of the lanes would be idle.
  const auto steps = [&](int64_t w) { return (*extent + w * lanes - 1) / (w * lanes) * w * lanes; };
  if (width == kMostWide && steps(width) * 4 >= *extent * 5 && steps(width / 2) < steps(width))
    width /= 2;
  return width;
}

}  // namespace

bool is_wide(const SymExpr& index, Symbol variable, int width) {
  return index.coefficient(variable) == 1 &&
         mod(index.substitute({{variable, 0}}), width) == SymExpr(0);
}

SymExpr row_place(const LaneMap& map) {
  SymExpr place = 0;
  if (*map.chunks > 1) place = map.width * SymExpr::symbol({'k', 0});
  if (map.width > 1) place += SymExpr::symbol({'l', 0});
  return place;
}

LaneMaps lane_maps(const LoopProgram& program, const Kernel& kernel) {
  LaneMaps maps;
  for_each_vector_loop(kernel.body, [&](const Loop& loop) {
    const int width = width_of(program, loop, loop.parallel ? 1 : kernel.lanes);
    LaneMap& map = maps.try_emplace(loop.extent, LaneMap{loop.extent, 0}).first->second;
    if (width > 0) map.width = map.width == 0 ? width : std::min(map.width, width);
  });
  for (auto& [extent, map] : maps) {
    map.width = std::max(map.width, 1);
    const auto n = extent.constant();
    if (!n) continue;
    const int64_t step = int64_t{map.width} * kernel.lanes;
    map.chunks = std::max<int64_t>(1, (*n + step - 1) / step);
    map.is_exact = *n == *map.chunks * step;
  }
  return maps;
}

}  // namespace inductor
