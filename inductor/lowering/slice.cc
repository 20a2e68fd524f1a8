// Operators that place a tensor inside a larger one, or read it in another order: one nest whose
// loads are protected by conditions on the loop variables.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

Term index_term(Builder& b, const SymExpr& value) { return {&b.pool(), b.pool().index(value)}; }

SymExpr inside(const SymExpr& index, const SymExpr& size) {
  return max(min(index, size - 1), SymExpr(0));
}

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
  Term is_inside;
  if (p.count == SymExpr(1)) {
    is_inside = index_term(b, from_start) == 0.0;
  } else {
    is_inside = bit_and(index_term(b, from_start) >= 0.0,
                        index_term(b, p.step * p.count - from_start) > 0.0);
    if (p.step != SymExpr(1))
      is_inside = bit_and(is_inside, index_term(b, mod(from_start, p.step)) == 0.0);
  }
  at[p.dim] = inside(floor_div(from_start, p.step), p.count);
  const Term value{&b.pool(), b.load(piece, at)};
  // In the dtype that is computed in: select is not defined on float16 and bfloat16.
  const DType dtype = compute_dtype(value.dtype());
  return select(is_inside, cast(dtype, value), cast(dtype, outside));
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

// pad = [before, after] of the last dimension, then of the one before it, ...; negative ones crop.
Verdict constant_pad(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term padding = e["value"];
  if (!padding) return Verdict::no("not padded with a real number");
  const std::vector<SymExpr> pad = integers(node, "pad");
  std::vector<SymExpr> at = nest.vars;
  Term is_inside{&b.pool(), b.pool().integer(DType::kBool, true)};
  bool is_empty = false;
  for (size_t n = 0; n < pad.size() / 2; ++n) {
    const size_t dim = at.size() - 1 - n;
    const SymExpr from = at[dim] - pad[2 * n];
    is_inside = bit_and(is_inside, bit_and(index_term(b, from) >= 0.0,
                                           index_term(b, self.sizes[dim] - from) > 0.0));
    at[dim] = inside(from, self.sizes[dim]);
    is_empty |= self.sizes[dim] == SymExpr(0);
  }
  if (is_empty) {
    b.store(node.output(0), nest, padding.expr);
  } else {
    const Term value = cast(padding.dtype(), {&b.pool(), b.load(self, at)});
    b.store(node.output(0), nest, select(is_inside, value, padding).expr);
  }
  return Verdict::yes();
}

// Elements on one side of a diagonal, zero on the other.
template <ScalarOp side>
Verdict triangle(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const size_t rank = nest.vars.size();
  const Term column_from_diagonal =
      index_term(b, nest.vars[rank - 1] - nest.vars[rank - 2] - integer(node, "diagonal"));
  const Term keep = apply(side, {column_from_diagonal, number(index_term(b, 0), 0)});
  b.store(node.output(0), nest, select(keep, e["self"], e.number(0)).expr);
  return Verdict::yes();
}

// Reads self at other places.
Verdict reorder(Builder& b, const Node& node,
                const std::function<void(std::vector<SymExpr>& at)>& change) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  std::vector<SymExpr> at = nest.vars;
  change(at);
  b.store(node.output(0), nest, b.load(b.ref(node, "self"), at));
  return Verdict::yes();
}

Verdict flip(Builder& b, const Node& node) {
  return reorder(b, node, [&](std::vector<SymExpr>& at) {
    for (const SymExpr& d : integers(node, "dims")) {
      const int dim = wrapped(d.as_constant(), result_rank(node));
      at[dim] = node.outputs[0]->sizes[dim] - 1 - at[dim];
    }
  });
}

Verdict repeat(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  for (const SymExpr& size : self.sizes)
    if (size == SymExpr(0)) return Verdict::no("nothing to repeat");
  return reorder(b, node, [&](std::vector<SymExpr>& at) {
    const size_t added = at.size() - self.sizes.size();
    for (size_t d = 0; d < self.sizes.size(); ++d)
      at[added + d] = mod(at[added + d], self.sizes[d]);
  });
}

constexpr LoweringRow kRows[] = {
    {"aten::slice_backward", kPointwise, slice_backward},
    {"aten::slice_scatter", kPointwise, slice_scatter},
    {"aten::select_backward", kPointwise, select_backward},
    {"aten::select_scatter", kPointwise, select_scatter},
    {"aten::constant_pad_nd", kPointwise, constant_pad},
    {"aten::tril", kPointwise, triangle<ScalarOp::le>},
    {"aten::triu", kPointwise, triangle<ScalarOp::ge>},
    {"aten::flip", kPointwise, flip},
    {"aten::repeat", kPointwise, repeat},
};

}  // namespace

LoweringRows slice_rows() { return kRows; }

}  // namespace inductor
