// How many lanes share a row, and how many threads a block has, on a GPU.
//   kernel.lanes = lanes_of_warp(program, kernel, groups);       // 4 for rows of 96 bf16s
//   int threads = threads_with_registers(program, kernel, 1024);
//
// Fewer lanes than a warp's where a row is short, so that all are busy, and where they would read
// far from each other; no fewer than keep a GPU's threads busy and a lane's part of rows in
// registers.
#pragma once

#include <cstdint>

#include "inductor/ir/loop.h"

namespace inductor {

// Elements of a row that one lane may keep.
inline constexpr int64_t kRowOfLane = 32;
// Most threads that share a row: few enough to stay in a warp where that keeps it in registers.
int lanes_for(const SymExpr& extent);
// The same for as many rows: more where few rows would leave threads idle.
int lanes_for(const SymExpr& extent, int64_t rows);
// Whether a row of this many elements stays in its lanes' registers.
bool row_fits_registers(const SymExpr& extent);

// A power of two, at most a warp's. `groups`: how many rows may be taken at the same time. The
// kernel's vector loops are marked.
int lanes_of_warp(const LoopProgram& program, const Kernel& kernel, int64_t groups);

// At most `threads` of a block: as many as leave each the registers that it needs.
int threads_with_registers(const LoopProgram& program, const Kernel& kernel, int threads);

// Whether a block's threads have registers for sums of the columns of whole rows, and as many more
// for the rows.
bool keeps_registers(const LoopProgram& program, const Kernel& kernel);

}  // namespace inductor
