// How the iterations of vector loops are divided among the lanes of a group.
//   LaneMaps maps = lane_maps(program, kernel);
//   maps.at(768) == {.width = 8, .chunks = 3, .is_exact = true}       // 32 lanes
// Lane t takes iterations (k*lanes + t)*width ... + width - 1 for k = 0, 1, ...; loops of one
// extent are divided alike, so that an element stays with its lane from loop to loop.
//
// Long rows that begin anywhere in memory (50,257 elements each) are cut where memory is aligned:
//   maps.at(50257) == {.width = 8, .chunks = 7, .head = mod(7*i0, 8)}   // 1,024 lanes
// Pieces begin behind the head; the row's ends, before the first and behind the last whole piece,
// are one element a lane.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/loop.h"
#include "inductor/schedule/access.h"

namespace inductor {

struct LaneMap {
  SymExpr extent;
  int width = 1;                  // iterations a lane takes together: one access of memory
  std::optional<int64_t> chunks;  // how often it does; none: not known
  bool is_exact = false;          // all lanes are busy every time
  std::optional<SymExpr> head;    // elements before the first piece, where rows begin anywhere
  // Short enough to be unrolled, so that rows may live in registers.
  bool is_unrolled() const { return chunks && *chunks * width <= 64; }
  // What a lane has of a row, at most; that of the ends comes last.
  int64_t elements() const { return *chunks * width + (head ? 1 : 0); }
  // Whether what a lane takes together is one aligned piece of memory.
  bool is_wide(const SymExpr& index, Symbol variable) const;
};

// Where in the lane's own row its current element is, while it walks: "8*k0 + l0".
SymExpr row_place(const LaneMap& map);

using LaneMaps = HashMap<SymExpr, LaneMap>;

// Elements of a lane's widest access: of half types; more would cost registers.
inline constexpr int kMostWide = 8;

LaneMaps lane_maps(const LoopProgram& program, const Kernel& kernel);

// The same for several numbers of lanes: what does not depend on them, found once.
//   const VectorLoops loops = vector_loops(program, kernel);       // as long as the kernel stays
//   for (int lanes : {32, 16, 8}) use(lane_maps(loops, lanes));
struct VectorLoop {
  const Loop* loop;
  std::vector<Access> accesses;  // of memory that others see
  int widest = 0;                // elements of the widest access along the loop; 0: there is none
  int aligned = 0;               // at most that: for which each of them is aligned
};
using VectorLoops = std::vector<VectorLoop>;
VectorLoops vector_loops(const LoopProgram& program, const Kernel& kernel);
LaneMaps lane_maps(const VectorLoops& loops, int lanes);

}  // namespace inductor
