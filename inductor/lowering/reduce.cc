// Reductions: one nest that accumulates in the dtype sums are made in; what remains to be done with
// the sum (a mean's division, rounding to bfloat16) is a pointwise nest over the result.
#include <algorithm>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kReduction = OpKind::kReduction;

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

struct Reduction {
  ReduceOp op;
  DType dtype;        // that is accumulated in
  bool mean = false;  // divide by the number of elements
};

Verdict reduce(Builder& b, const Node& node, const Reduction& r) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorType& result = *node.outputs[0];
  const TensorRef self = b.ref(node, "self");
  const int rank = static_cast<int>(self.sizes.size());
  const std::vector<bool> reduced = reduced_dims(node, rank);
  const bool keeps_dims = static_cast<int>(result.sizes.size()) == rank;

  Nest nest;
  std::vector<SymExpr> vars(rank), to_vars;
  SymExpr count = 1;
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) vars[d] = b.add_level(nest, self.sizes[d], LoopKind::kSerial);
    if (!reduced[d] || keeps_dims) to_vars.push_back(reduced[d] ? SymExpr(0) : vars[d]);
  }
  for (int d = 0; d < rank; ++d) {
    if (!reduced[d]) continue;
    vars[d] = b.add_level(nest, self.sizes[d], LoopKind::kReduction);
    count = count * self.sizes[d];
  }

  TensorType type = result;
  type.dtype = r.dtype;
  const TensorRef to = b.new_ref(type);
  const Expr value = b.pool().cast(r.dtype, b.load(self, vars));
  if (std::find(reduced.begin(), reduced.end(), true) == reduced.end()) {
    b.emit(nest, Store{to.buffer, b.address(to, to_vars), value});  // of a 0-dimensional tensor
  } else {
    b.emit(nest, Reduce{to.buffer, b.address(to, to_vars), r.op, value});
  }
  if (!r.mean && r.dtype == result.dtype) {
    b.define(node.output(0), to);
    return Verdict::yes();
  }
  const Nest last = b.nest(result.sizes);
  Term total{&b.pool(), b.load(to, last.vars)};
  if (r.mean) total = total / cast(r.dtype, {&b.pool(), b.pool().index(count)});
  b.store(node.output(0), last, total.expr);
  return Verdict::yes();
}

// In the result's dtype, float32 where that is a half one.
template <ReduceOp op, bool mean = false>
Verdict in_result_dtype(Builder& b, const Node& node) {
  if (!node.outputs[0]) return Verdict::no("no result");
  const DType dtype = compute_dtype(node.outputs[0]->dtype);
  if (mean && !is_floating(dtype)) return Verdict::no("a mean of integers");
  if (dtype == DType::kBool && (op == ReduceOp::kSum || op == ReduceOp::kProd))
    return Verdict::no("a sum or product as bool");
  return reduce(b, node, {op, dtype, mean});
}

// A maximum of nothing raises in ATen.
template <ReduceOp op>
Verdict extremum(Builder& b, const Node& node) {
  for (const SymExpr& size : tensor(node, "self").type().sizes)
    if (size == SymExpr(0)) return Verdict::no("an extremum of nothing");
  return in_result_dtype<op>(b, node);
}

template <ReduceOp op>
Verdict truth_of(Builder& b, const Node& node) {
  if (node.outputs[0] && node.outputs[0]->dtype == DType::kUInt8)
    return Verdict::no("uint8 as truth values");
  return reduce(b, node, {op, DType::kBool});
}

constexpr LoweringRow kRows[] = {
    {"aten::sum", kReduction, in_result_dtype<ReduceOp::kSum>},
    {"aten::sum.dim_IntList", kReduction, in_result_dtype<ReduceOp::kSum>},
    {"aten::mean", kReduction, in_result_dtype<ReduceOp::kSum, true>},
    {"aten::mean.dim", kReduction, in_result_dtype<ReduceOp::kSum, true>},
    {"aten::prod", kReduction, in_result_dtype<ReduceOp::kProd>},
    {"aten::prod.dim_int", kReduction, in_result_dtype<ReduceOp::kProd>},
    {"aten::amax", kReduction, extremum<ReduceOp::kMax>},
    {"aten::amin", kReduction, extremum<ReduceOp::kMin>},
    {"aten::max", kReduction, extremum<ReduceOp::kMax>},
    {"aten::min", kReduction, extremum<ReduceOp::kMin>},
    {"aten::any", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::any.dim", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::any.dims", kReduction, truth_of<ReduceOp::kMax>},
    {"aten::all", kReduction, truth_of<ReduceOp::kMin>},
    {"aten::all.dim", kReduction, truth_of<ReduceOp::kMin>},
    {"aten::all.dims", kReduction, truth_of<ReduceOp::kMin>},
};

}  // namespace

LoweringRows reduce_rows() { return kRows; }

}  // namespace inductor
