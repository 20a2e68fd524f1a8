// Extrema with their places. The extremum first, by a reduction; then the least place whose element
// equals it, by another one over the same elements. NaN is the extremum where there is one, and
// equals NaN here: what ATen gives is the place of the first NaN.
#include <limits>

#include "inductor/lowering/reduction.h"

namespace inductor {
namespace {

constexpr auto kReduction = OpKind::kReduction;

// An element's place along the dimension reduced, or in the order of all elements.
SymExpr place_of(const Node& node, const TensorRef& self, const Space& space) {
  const int rank = static_cast<int>(self.sizes.size());
  if (!is_none(node, "dim"))
    return rank == 0 ? SymExpr(0) : space.vars[dimension(node, "dim", rank)];
  SymExpr place = 0;
  for (int d = 0; d < rank; ++d) place = place * self.sizes[d] + space.vars[d];
  return place;
}

// The extremum of self in the layout of an output. ATen raises where there is nothing.
std::optional<TensorRef> extremum(Builder& b, const Node& node, ReduceOp op, int output) {
  const TensorRef self = b.ref(node, "self");
  const Space space = reduction_space(b, node, self.sizes);
  if (space.count == SymExpr(0)) return std::nullopt;
  return accumulate(b, space, retyped(node, output, compute_dtype(b.dtype(self))), op,
                    b.load(self, space.vars));
}

void define_place(Builder& b, const Node& node, int output, const TensorRef& most) {
  const TensorRef self = b.ref(node, "self");
  const Space space = reduction_space(b, node, self.sizes);
  const Term value = cast(b.dtype(most), {&b.pool(), b.load(self, space.vars)});
  const Term wanted{&b.pool(),
                    b.pool().load(most.buffer, b.address(most, space.kept), b.dtype(most))};
  Term is_it = value == wanted;
  if (is_floating(value.dtype())) is_it = bit_or(is_it, bit_and(value != value, wanted != wanted));
  const Term place{&b.pool(), b.pool().index(place_of(node, self, space))};
  const Term none{&b.pool(), b.pool().integer(DType::kInt64, std::numeric_limits<int64_t>::max())};
  b.define(node.output(output), accumulate(b, space, *node.outputs[output], ReduceOp::kMin,
                                           select(is_it, place, none).expr));
}

template <ReduceOp op>
Verdict place(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const auto most = extremum(b, node, op, 0);
  if (!most) return Verdict::no("an extremum of nothing");
  define_place(b, node, 0, *most);
  return Verdict::yes();
}

template <ReduceOp op>
Verdict value_and_place(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const auto most = extremum(b, node, op, 0);
  if (!most) return Verdict::no("an extremum of nothing");
  define_place(b, node, 1, *most);
  define_rounded(b, node, 0, *most);
  return Verdict::yes();
}

Verdict both_extrema(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const auto least = extremum(b, node, ReduceOp::kMin, 0);
  if (!least) return Verdict::no("an extremum of nothing");
  define_rounded(b, node, 0, *least);
  define_rounded(b, node, 1, *extremum(b, node, ReduceOp::kMax, 1));
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::argmax", kReduction, place<ReduceOp::kMax>},
    {"aten::argmin", kReduction, place<ReduceOp::kMin>},
    {"aten::max.dim", kReduction, value_and_place<ReduceOp::kMax>},
    {"aten::min.dim", kReduction, value_and_place<ReduceOp::kMin>},
    {"aten::aminmax", kReduction, both_extrema},
};

}  // namespace

LoweringRows extremum_rows() { return kRows; }

}  // namespace inductor
