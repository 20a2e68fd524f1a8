// Splits loops of a finished kernel where that pays.
//   tile(program, kernel);
//
//  - Where one access walks along the innermost loop and another one across it (a transposing
//  copy),
//    both loops are cut into tiles: the lines that the crossing access touches are used up while
//    they are close.
//  - Where the outermost loop is a reduction, nothing could run in parallel: the loop inside, which
//    keeps its elements apart, is cut into blocks that go outermost.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void tile(LoopProgram& program, Kernel& kernel);

// On a GPU: where one access walks along the innermost loop and another one of as many elements
// across it, threads that are neighbours walk along that one, each over the sector of memory that
// it writes: whole sectors are written and read. Extents that sectors do not divide stay.
void tile_by_sectors(LoopProgram& program, Kernel& kernel);

}  // namespace inductor
