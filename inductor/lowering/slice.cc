// Operators that place a tensor inside a larger one: one nest whose loads are protected by
// conditions on the loop variables.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

// Where a piece lies along one dimension of the whole.
struct Placement {
  int dim;
  SymExpr start, step, count;
};

// The piece's element where `at` is inside of it, `outside` elsewhere.
Term placed(Builder& b, const TensorRef& piece, const Placement& p, std::vector<SymExpr> at,
            const Term& outside) {
  if (p.count == SymExpr(0)) return outside;
  const SymExpr from_start = at[p.dim] - p.start;
  Term is_in_piece;
  if (p.count == SymExpr(1)) {
    is_in_piece = index_term(b, from_start) == 0.0;
  } else {
    is_in_piece = is_inside(b, from_start, p.step * p.count);
    if (p.step != SymExpr(1))
      is_in_piece = bit_and(is_in_piece, index_term(b, mod(from_start, p.step)) == 0.0);
  }
  at[p.dim] = nearest(floor_div(from_start, p.step), p.count);
  return either(is_in_piece, {&b.pool(), b.load(piece, at)}, outside);
}

Placement slice_placement(const Node& node, const SymExpr& size, const SymExpr& count, int rank) {
  const SymExpr start = wrapped(integer(node, "start"), size);
  return {dimension(node, "dim", rank), max(min(start, size), SymExpr(0)), integer(node, "step", 1),
          count};
}

SymExpr size_at(const Node& node) {
  const auto& sizes = node.outputs[0]->sizes;
  return sizes[dimension(node, "dim", static_cast<int>(sizes.size()))];
}

// A piece of one index along `dim`, given without that dimension.
TensorRef unsqueezed(TensorRef piece, int dim) {
  piece.sizes.insert(piece.sizes.begin() + dim, 1);
  piece.strides.insert(piece.strides.begin() + dim, 0);
  return piece;
}

// Puts `piece` into the result; outside of it stands element `at` of self, or zero.
Verdict place(Builder& b, const Node& node, const TensorRef& piece, const Placement& placement,
              const TensorRef* self) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term outside = self ? Term{&b.pool(), b.load(*self, nest.vars)} : e.number(0);
  b.store(node.output(0), nest, placed(b, piece, placement, nest.vars, outside).expr);
  return Verdict::yes();
}

int result_rank(const Node& node) { return static_cast<int>(node.outputs[0]->sizes.size()); }

Verdict slice_backward(Builder& b, const Node& node) {
  const TensorRef piece = b.ref(node, "grad_output");
  const int dim = dimension(node, "dim", result_rank(node));
  return place(b, node, piece,
               slice_placement(node, size_at(node), piece.sizes[dim], result_rank(node)), nullptr);
}

Verdict slice_scatter(Builder& b, const Node& node) {
  const TensorRef piece = b.ref(node, "src"), self = b.ref(node, "self");
  const int dim = dimension(node, "dim", result_rank(node));
  return place(b, node, piece,
               slice_placement(node, size_at(node), piece.sizes[dim], result_rank(node)), &self);
}

Placement select_placement(const Node& node) {
  return {dimension(node, "dim", result_rank(node)), wrapped(integer(node, "index"), size_at(node)),
          1, 1};
}

Verdict select_backward(Builder& b, const Node& node) {
  const Placement p = select_placement(node);
  return place(b, node, unsqueezed(b.ref(node, "grad_output"), p.dim), p, nullptr);
}

Verdict select_scatter(Builder& b, const Node& node) {
  const Placement p = select_placement(node);
  const TensorRef self = b.ref(node, "self");
  return place(b, node, unsqueezed(b.ref(node, "src"), p.dim), p, &self);
}

// Matrices along the diagonal of the result.
Verdict block_diag(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  Term value = e.number(0);
  SymExpr row = 0, column = 0;
  for (const auto& tensor : tensors(node, "tensors")) {
    TensorRef block = b.ref(*tensor);
    while (block.sizes.size() < 2) block = unsqueezed(block, 0);
    const SymExpr r = nest.vars[0] - row, c = nest.vars[1] - column;
    row += block.sizes[0];
    column += block.sizes[1];
    if (is_empty(block.sizes)) continue;
    const SymExpr at[] = {nearest(r, block.sizes[0]), nearest(c, block.sizes[1])};
    const Term inside = bit_and(is_inside(b, r, block.sizes[0]), is_inside(b, c, block.sizes[1]));
    value = either(inside, cast(value.dtype(), {&b.pool(), b.load(block, at)}), value);
  }
  b.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::slice_backward", kPointwise, slice_backward},
    {"aten::slice_scatter", kPointwise, slice_scatter},
    {"aten::select_backward", kPointwise, select_backward},
    {"aten::select_scatter", kPointwise, select_scatter},
    {"aten::block_diag", kPointwise, block_diag},
};

}  // namespace

LoweringRows slice_rows() { return kRows; }

}  // namespace inductor
