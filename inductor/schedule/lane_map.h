// How the iterations of vector loops are divided among the lanes of a group.
//   LaneMaps maps = lane_maps(program, kernel);
//   maps.at(768) == {.width = 8, .chunks = 3, .is_exact = true}       // 32 lanes
// Lane t takes iterations (k*lanes + t)*width ... + width - 1 for k = 0, 1, ...; loops of one
// extent are divided alike, so that an element stays with its lane from loop to loop.
#pragma once

#include <cstdint>
#include <optional>

#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/loop.h"

namespace inductor {

struct LaneMap {
  SymExpr extent;
  int width = 1;                  // iterations a lane takes together: one access of memory
  std::optional<int64_t> chunks;  // how often it does; none: not known
  bool is_exact = false;          // all lanes are busy every time
  // Short enough to be unrolled, so that rows may live in registers.
  bool is_unrolled() const { return chunks && *chunks * width <= 64; }
};

// Where in the lane's own row its current element is, while it walks: "8*k0 + l0".
SymExpr row_place(const LaneMap& map);

using LaneMaps = HashMap<SymExpr, LaneMap>;

// Elements of a lane's widest access: of half types; more would cost registers.
inline constexpr int kMostWide = 8;

LaneMaps lane_maps(const LoopProgram& program, const Kernel& kernel);

// Whether `width` neighbours along the loop's variable lie in one aligned piece of memory.
bool is_wide(const SymExpr& index, Symbol variable, int width);

}  // namespace inductor
