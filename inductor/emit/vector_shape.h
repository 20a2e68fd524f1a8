// How an innermost loop is cut into pieces: unrolled vectors, vectors, what is left.
//   VectorShape shape = vector_shape(program, loop);     // extent 100, width 8, unrolled 4 times
//   shape.pieces  ==  [0, 96) by 4 vectors, [96, 96) by vectors, [96, 100) by scalars; empty ones
//   left out
#pragma once

#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

struct Piece {
  SymExpr begin, end;
  int width = 1;   // lanes
  int unroll = 1;  // vectors an iteration
};

struct VectorShape {
  int width = 1;          // of the vectors
  int unroll = 1;         // independent accumulators a reduction keeps
  bool has_rest = false;  // a piece of scalars besides the vectors
  std::vector<Piece> pieces;
};

VectorShape vector_shape(const LoopProgram& program, const Loop& innermost);

// What of the pieces lies in block `index` of blocks of `size` iterations, whole vectors each.
std::vector<Piece> block_of(const VectorShape& shape, const SymExpr& index, int64_t size);

}  // namespace inductor
