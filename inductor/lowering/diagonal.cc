// Triangles and diagonals of matrices: what is written depends on how far a column is from the
// diagonal of its row.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

// Elements on one side of a diagonal, zero on the other.
template <ScalarOp side>
Verdict triangle(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const size_t rank = nest.vars.size();
  const Term from_diagonal =
      index_term(b, nest.vars[rank - 1] - nest.vars[rank - 2] - integer(node, "diagonal"));
  const Term keep = apply(side, {from_diagonal, number(from_diagonal, 0)});
  b.store(node.output(0), nest, select(keep, e["self"], e.number(0)).expr);
  return Verdict::yes();
}

Verdict eye(Builder& b, const Node& node) {
  if (!node.outputs[0] || !is_computed(node.outputs[0]->dtype))
    return Verdict::no("an element type without kernels");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const Term on_diagonal = index_term(b, nest.vars[0]) == index_term(b, nest.vars[1]);
  b.store(node.output(0), nest, on_diagonal.expr);
  return Verdict::yes();
}

// `diagonal` on a diagonal of the result, its last dimension along it; elsewhere element `at` of
// `around`, or zero.
Verdict on_diagonal(Builder& b, const Node& node, std::string_view diagonal,
                    const TensorRef* around) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef piece = b.ref(node, diagonal);
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const int rank = static_cast<int>(nest.vars.size());
  const int dim1 = dimension(node, "dim1", rank), dim2 = dimension(node, "dim2", rank);
  const SymExpr offset = integer(node, "offset"), row = nest.vars[dim1], column = nest.vars[dim2];
  const Term outside = around ? Term{&b.pool(), b.load(*around, nest.vars)} : e.number(0);
  Term value = outside;
  if (!is_empty(piece.sizes)) {
    std::vector<SymExpr> at;
    for (int d = 0; d < rank; ++d)
      if (d != dim1 && d != dim2) at.push_back(nest.vars[d]);
    at.push_back(nearest(min(row, column), piece.sizes.back()));
    value = either(index_term(b, column - row - offset) == 0.0, {&b.pool(), b.load(piece, at)},
                   outside);
  }
  b.store(node.output(0), nest, value.expr);
  return Verdict::yes();
}

Verdict diag_embed(Builder& b, const Node& node) { return on_diagonal(b, node, "self", nullptr); }
Verdict diagonal_backward(Builder& b, const Node& node) {
  return on_diagonal(b, node, "grad_output", nullptr);
}
Verdict diagonal_scatter(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  return on_diagonal(b, node, "src", &self);
}

constexpr LoweringRow kRows[] = {
    {"aten::tril", kPointwise, triangle<ScalarOp::le>},
    {"aten::triu", kPointwise, triangle<ScalarOp::ge>},
    {"aten::eye", kPointwise, eye},
    {"aten::eye.m", kPointwise, eye},
    {"aten::diag_embed", kPointwise, diag_embed},
    {"aten::diagonal_backward", kPointwise, diagonal_backward},
    {"aten::diagonal_scatter", kPointwise, diagonal_scatter},
};

}  // namespace

LoweringRows diagonal_rows() { return kRows; }

}  // namespace inductor
