// Reductions: one nest that accumulates in the dtype sums are made in; what remains to be done with
// the sum (a mean's division, rounding to bfloat16) is a pointwise nest over the result.
#include <algorithm>
#include <cmath>

#include "inductor/lowering/reduction.h"

namespace inductor {

namespace {

// The dimensions reduced: all where none are named.
std::vector<bool> reduced_dims(const Node& node, int rank) {
  std::vector<SymExpr> dims;
  for (const auto& arg : node.args)
    if (arg.name == "dim") dims = integers(node, "dim");
  std::vector<bool> reduced(rank, dims.empty());
  for (const SymExpr& d : dims)
    if (rank > 0) reduced[wrapped(d.as_constant(), rank)] = true;
  return reduced;
}

}  // namespace

Space reduction_space(Builder& b, const Node& node, const std::vector<SymExpr>& sizes) {
  const int rank = static_cast<int>(sizes.size());
  const std::vector<bool> reduced = reduced_dims(node, rank);
  const bool keeps_dims = static_cast<int>(node.outputs[0]->sizes.size()) == rank;
  Space space;
  space.vars.resize(rank);
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) space.vars[d] = b.add_level(space.nest, sizes[d], LoopKind::kSerial);
    if (!reduced[d] || keeps_dims) space.kept.push_back(reduced[d] ? SymExpr(0) : space.vars[d]);
  }
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) continue;
    space.vars[d] = b.add_level(space.nest, sizes[d], LoopKind::kReduction);
    space.count = space.count * sizes[d];
  }
  return space;
}

TensorRef accumulate(Builder& b, const Space& space, const TensorType& type, ReduceOp op,
                     Expr value) {
  const TensorRef to = b.new_ref(type);
  const SymExpr at = b.address(to, space.kept);
  value = b.pool().cast(type.dtype, value);
  const bool reduces =
      std::any_of(space.nest.levels.begin(), space.nest.levels.end(),
                  [](const Nest::Level& level) { return level.kind == LoopKind::kReduction; });
  if (reduces) {
    b.emit(space.nest, Reduce{to.buffer, at, op, value});
  } else {
    b.emit(space.nest, Store{to.buffer, at, value});  // of a 0-dimensional tensor
  }
  return to;
}

void define_rounded(Builder& b, const Node& node, int output, const TensorRef& value) {
  if (b.dtype(value) == node.outputs[output]->dtype) return b.define(node.output(output), value);
  const Nest nest = b.nest(value.sizes);
  b.store(node.output(output), nest, b.load(value, nest.vars));
}

TensorType retyped(const Node& node, int output, DType dtype) {
  TensorType type = *node.outputs[output];
  type.dtype = dtype;
  return type;
}

namespace {

constexpr auto kReduction = OpKind::kReduction;

struct Reduction {
  ReduceOp op;
  DType dtype;                                         // that is accumulated in
  std::function<Term(const Term&)> element = {};       // of an element in that dtype
  std::function<Term(const Term&, Term)> finish = {};  // of the total and the number of elements
};

Verdict reduce(Builder& b, const Node& node, const Reduction& r, const Space& space,
               const Term& element) {
  const TensorRef to = accumulate(b, space, retyped(node, 0, r.dtype), r.op,
                                  (r.element ? r.element(element) : element).expr);
  if (!r.finish && r.dtype == node.outputs[0]->dtype) {
    b.define(node.output(0), to);
    return Verdict::yes();
  }
  const Nest last = b.nest(node.outputs[0]->sizes);
  Term total{&b.pool(), b.load(to, last.vars)};
  if (r.finish) total = r.finish(total, cast(r.dtype, {&b.pool(), b.pool().index(space.count)}));
  b.store(node.output(0), last, total.expr);
  return Verdict::yes();
}

Verdict reduce(Builder& b, const Node& node, const Reduction& r) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Space space = reduction_space(b, node, self.sizes);
  if ((r.op == ReduceOp::kMax || r.op == ReduceOp::kMin) && r.dtype != DType::kBool &&
      space.count == SymExpr(0))
    return Verdict::no("an extremum of nothing");  // raises in ATen
  return reduce(b, node, r, space, cast(r.dtype, {&b.pool(), b.load(self, space.vars)}));
}

Term is_not_zero(const Term& x) { return cast(x.dtype(), x != 0.0); }
Term nan_as_zero(const Term& x) {
  return is_floating(x.dtype()) ? select(x != x, number(x, 0), x) : x;
}
Term quotient(const Term& total, Term count) { return total / count; }

DType result_dtype(const Node& node) {
  return node.outputs[0] ? compute_dtype(node.outputs[0]->dtype) : DType::kFloat32;
}

// In the result's dtype, float32 where that is a half one.
template <ReduceOp op>
Verdict in_result_dtype(Builder& b, const Node& node) {
  const DType dtype = result_dtype(node);
  if (dtype == DType::kBool && (op == ReduceOp::kSum || op == ReduceOp::kProd))
    return Verdict::no("a sum or product as bool");
  return reduce(b, node, {op, dtype});
}

Verdict mean(Builder& b, const Node& node) {
  if (!is_floating(result_dtype(node))) return Verdict::no("a mean of integers");
  return reduce(b, node, {ReduceOp::kSum, result_dtype(node), {}, quotient});
}

Verdict nansum(Builder& b, const Node& node) {
  if (result_dtype(node) == DType::kBool) return Verdict::no("a sum as bool");
  return reduce(b, node, {ReduceOp::kSum, result_dtype(node), nan_as_zero});
}

template <ReduceOp op>
Verdict truth_of(Builder& b, const Node& node) {
  return reduce(b, node, {op, DType::kBool});
}

Verdict count_nonzero(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Space space = reduction_space(b, node, self.sizes);
  return reduce(b, node, {ReduceOp::kSum, DType::kInt64}, space,
                truth({&b.pool(), b.load(self, space.vars)}));
}

Verdict trace(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  if (b.dtype(self) == DType::kBool) return Verdict::no("a trace of bool");  // raises in ATen
  const SymExpr size = min(self.sizes[0], self.sizes[1]);
  Space space;
  const SymExpr i = b.add_level(space.nest, size, LoopKind::kReduction);
  const SymExpr at[] = {i, i};
  return reduce(b, node, {ReduceOp::kSum, result_dtype(node)}, space,
                {&b.pool(), b.load(self, at)});
}

// ---- Norms ----

Reduction norm_of(double p, DType dtype) {
  const auto magnitude = [](const Term& x) { return abs(x); };
  if (p == 0) return {ReduceOp::kSum, dtype, is_not_zero};
  if (p == 1) return {ReduceOp::kSum, dtype, magnitude};
  if (std::isinf(p)) return {p > 0 ? ReduceOp::kMax : ReduceOp::kMin, dtype, magnitude};
  if (p == 2)
    return {ReduceOp::kSum, dtype, [](const Term& x) { return x * x; },
            [](const Term& sum, Term) { return sqrt(sum); }};
  return {ReduceOp::kSum, dtype, [=](const Term& x) { return pow(abs(x), number(x, p)); },
          [=](const Term& sum, Term) { return pow(sum, number(sum, 1 / p)); }};
}

std::optional<double> order(const Node& node) {
  if (is_none(node, "p")) return 2;
  if (const auto* real = std::get_if<double>(&node.arg("p"))) return *real;
  const auto* whole = std::get_if<SymExpr>(&node.arg("p"));
  if (!whole || !whole->is_constant()) return std::nullopt;
  return static_cast<double>(whole->as_constant());
}

Verdict norm(Builder& b, const Node& node) {
  const auto p = order(node);
  if (!p || !is_floating(result_dtype(node))) return Verdict::no("a norm of unknown order");
  return reduce(b, node, norm_of(*p, result_dtype(node)));
}

// The norm of the difference.
Verdict dist(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const auto p = order(node);
  const DType dtype = result_dtype(node);
  if (!p || !is_floating(dtype)) return Verdict::no("a norm of unknown order");
  const TensorRef self = b.ref(node, "self"), other = b.ref(node, "other");
  const TensorRef& longer = self.sizes.size() < other.sizes.size() ? other : self;
  const TensorRef& shorter = &longer == &self ? other : self;
  std::vector<SymExpr> sizes = longer.sizes;
  for (size_t d = 0; d < shorter.sizes.size(); ++d)
    if (SymExpr& size = sizes[sizes.size() - shorter.sizes.size() + d]; size == SymExpr(1))
      size = shorter.sizes[d];
  const Space space = reduction_space(b, node, sizes);
  if (space.count == SymExpr(0)) return Verdict::no("a distance of nothing");
  const auto read = [&](const TensorRef& ref) {
    return cast(dtype, {&b.pool(), b.load(ref, space.vars)});
  };
  return reduce(b, node, norm_of(*p, dtype), space, read(self) - read(other));
}

constexpr LoweringRow kRows[] = {
    {"aten::sum", kReduction, in_result_dtype<ReduceOp::kSum>},
    {"aten::sum.dim_IntList", kReduction, in_result_dtype<ReduceOp::kSum>},
    {"aten::nansum", kReduction, nansum},
    {"aten::mean", kReduction, mean},
    {"aten::mean.dim", kReduction, mean},
    {"aten::prod", kReduction, in_result_dtype<ReduceOp::kProd>},
    {"aten::prod.dim_int", kReduction, in_result_dtype<ReduceOp::kProd>},
    {"aten::amax", kReduction, in_result_dtype<ReduceOp::kMax>},
    {"aten::amin", kReduction, in_result_dtype<ReduceOp::kMin>},
    {"aten::max", kReduction, in_result_dtype<ReduceOp::kMax>},
    {"aten::min", kReduction, in_result_dtype<ReduceOp::kMin>},
    {"aten::any", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::any.dim", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::any.dims", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::all", kReduction, truth_of<ReduceOp::kMin>},
    {"aten::all.dim", kReduction, truth_of<ReduceOp::kMin>},
    {"aten::all.dims", kReduction, truth_of<ReduceOp::kMin>},
    {"aten::count_nonzero", kReduction, count_nonzero},
    {"aten::count_nonzero.dim_IntList", kReduction, count_nonzero},
    {"aten::trace", kReduction, trace},
    {"aten::norm.Scalar", kReduction, norm},
    {"aten::norm.ScalarOpt_dim", kReduction, norm},
    {"aten::dist", kReduction, dist},
};

}  // namespace

LoweringRows reduce_rows() { return kRows; }

}  // namespace inductor
