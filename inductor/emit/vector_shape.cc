#include "inductor/emit/vector_shape.h"

#include <algorithm>

#include "inductor/emit/hoist.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

// A chain of additions waits four cycles for each; a body that does more work hides that.
constexpr int64_t kLightBody = 24;
constexpr int kUnroll = 4;

bool touches_f64(const LoopProgram& program, const Loop& loop) {
  bool found = false;
  for_each_node(roots(loop.body), [&](Expr e) { found |= e.dtype() == DType::kFloat64; });
  for (const Stmt& leaf : loop.body)
    found |= program.buffers[written_buffer(leaf)].type.dtype == DType::kFloat64;
  return found;
}

bool keeps_accumulators(const Loop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Stmt& leaf) {
    const auto* reduce = std::get_if<Reduce>(&leaf);
    return reduce && !reduce->index.mentions(loop.var);
  });
}

}  // namespace

VectorShape vector_shape(const LoopProgram& program, const Loop& loop) {
  VectorShape shape;
  if (!loop.vector) {
    shape.pieces = {{0, loop.extent}};
    return shape;
  }
  shape.width = touches_f64(program, loop) ? 4 : 8;
  const SymExpr vectors = floor_div(loop.extent, shape.width) * shape.width;
  SymExpr unrolled = 0;
  if (keeps_accumulators(loop) && work(loop.body) <= kLightBody) {
    const int64_t step = int64_t{shape.width} * kUnroll;
    unrolled = floor_div(loop.extent, step) * step;
    if (unrolled != SymExpr(0)) shape.unroll = kUnroll;
  }
  const auto add = [&](Piece piece) {
    if (piece.begin != piece.end) shape.pieces.push_back(std::move(piece));
  };
  add({0, unrolled, shape.width, kUnroll});
  add({unrolled, vectors, shape.width, 1});
  add({vectors, loop.extent, 1, 1});
  shape.has_rest = vectors != loop.extent;
  return shape;
}

std::vector<Piece> block_of(const VectorShape& shape, const SymExpr& index, int64_t size) {
  const SymExpr begin = index * size, end = begin + size;
  const SymExpr& extent = shape.pieces.back().end;
  std::vector<Piece> pieces = shape.pieces;
  for (Piece& piece : pieces) {
    const bool fills_blocks = piece.end == extent && mod(extent, size) == SymExpr(0);
    piece.begin = piece.begin == SymExpr(0) ? begin : max(piece.begin, begin);
    piece.end = fills_blocks ? end : min(piece.end, end);
  }
  return pieces;
}

}  // namespace inductor
