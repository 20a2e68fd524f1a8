// How a kernel's loops run on a GPU: what is divided among blocks, groups and lanes (ir/loop.h).
//   spread_columns(program, kernel);
//   choose_blocks(program, kernel);
//
//  - Perfectly nested serial loops: every iteration is a thread's, the innermost ones in vectors.
//  - Rows: an iteration of the serial loops around is a group's; its lanes walk over the row. A
//    group is a part of a warp where rows are short, and one thread where they do not lie together:
//    the windows of a pooling.
//  - Sums over rows that keep columns: a lane has columns, groups divide the rows of a chunk.
//  - Sums by place, where one loop says which place a row is added to: a group takes an iteration.
//  - Anything else runs in one block.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

// Whether the loop adds rows, which lanes keep, to places that it alone chooses.
bool adds_by_place(const Loop& loop);

// Where rows are reduced and columns kept, blocks of columns go outermost.
void spread_columns(LoopProgram& program, Kernel& kernel);

void choose_blocks(const LoopProgram& program, Kernel& kernel);

}  // namespace inductor
