// Running sums, products and extrema along short rows: each element reduces those up to it by
// itself. Long rows, which want a scan that passes its value on, are left to ATen.
#include <limits>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/place.h"
#include "inductor/lowering/reduction.h"

namespace inductor {
namespace {

constexpr auto kReduction = OpKind::kReduction;
constexpr int64_t kLongest = 32;

// The elements up to one: those at `from` where `counts` holds.
struct Run {
  Space space;
  std::vector<SymExpr> from;
  SymExpr place;  // of `from` along the dimension
  Term counts;
};

Verdict can_scan(const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  if (sizes.empty()) return Verdict::no("a 0-dimensional self");
  const auto length = sizes[dimension(node, "dim", static_cast<int>(sizes.size()))].constant();
  if (length.value_or(kLongest + 1) > kLongest) return Verdict::no("a long row");
  return Verdict::yes();
}

Run run_of(Builder& b, const Node& node) {
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  const int dim = dimension(node, "dim", static_cast<int>(sizes.size()));
  Run run;
  run.space.nest = b.nest(sizes);
  run.space.kept = run.from = run.space.nest.vars;
  run.place = b.add_level(run.space.nest, sizes[dim], LoopKind::kReduction);
  run.from[dim] = run.place;
  run.counts = index_term(b, run.space.kept[dim] - run.place) >= 0.0;
  return run;
}

Term at(Builder& b, const TensorRef& ref, std::span<const SymExpr> place) {
  return cast(compute_dtype(b.dtype(ref)), {&b.pool(), b.load(ref, place)});
}

template <ReduceOp op>
Verdict accumulate_rows(Builder& b, const Node& node) {
  if (Verdict can = can_scan(node); !can) return can;
  const DType dtype = compute_dtype(node.outputs[0]->dtype);
  if (dtype == DType::kBool) return Verdict::no("a sum or product as bool");
  const Run run = run_of(b, node);
  const Term x = cast(dtype, at(b, b.ref(node, "self"), run.from));
  const Term none = number(x, op == ReduceOp::kSum ? 0 : 1);
  define_rounded(
      b, node, 0,
      accumulate(b, run.space, retyped(node, 0, dtype), op, select(run.counts, x, none).expr));
  return Verdict::yes();
}

// The extremum up to each element. A value of the run stands for those that do not count: its
// first.
TensorRef running_extremum(Builder& b, const Node& node, ReduceOp op) {
  const int dim = dimension(node, "dim", static_cast<int>(node.outputs[0]->sizes.size()));
  const Run run = run_of(b, node);
  std::vector<SymExpr> first = run.from;
  first[dim] = 0;
  const TensorRef self = b.ref(node, "self");
  const Term value = select(run.counts, at(b, self, run.from), at(b, self, first));
  return accumulate(b, run.space, retyped(node, 0, value.dtype()), op, value.expr);
}

// With the last place that has it; NaN is the extremum from the first one on.
template <ReduceOp op>
Verdict extremum_and_place(Builder& b, const Node& node) {
  if (Verdict can = can_scan(node); !can) return can;
  const TensorRef most = running_extremum(b, node, op);
  const Run run = run_of(b, node);
  const Term value = at(b, b.ref(node, "self"), run.from);
  const Term wanted{&b.pool(),
                    b.pool().load(most.buffer, b.address(most, run.space.kept), b.dtype(most))};
  Term is_it = value == wanted;
  if (is_floating(value.dtype())) is_it = bit_or(is_it, bit_and(value != value, wanted != wanted));
  const Term none{&b.pool(), b.pool().integer(DType::kInt64, -1)};
  const Term place = select(bit_and(run.counts, is_it), index_term(b, run.place), none);
  b.define(node.output(1), accumulate(b, run.space, *node.outputs[1], ReduceOp::kMax, place.expr));
  define_rounded(b, node, 0, most);
  return Verdict::yes();
}

// log of the sum of exponentials, over which the greatest, where it is finite, is taken out.
Verdict logcumsumexp(Builder& b, const Node& node) {
  if (Verdict can = can_scan(node); !can) return can;
  if (!is_floating(node.outputs[0]->dtype)) return Verdict::no("exponentials of integers");
  const TensorRef most = running_extremum(b, node, ReduceOp::kMax);
  const auto shift_at = [&](std::span<const SymExpr> place) {
    const Term m{&b.pool(), b.pool().load(most.buffer, b.address(most, place), b.dtype(most))};
    return select(abs(m) == std::numeric_limits<double>::infinity(), number(m, 0), m);
  };
  const Run run = run_of(b, node);
  const Term power = exp(at(b, b.ref(node, "self"), run.from) - shift_at(run.space.kept));
  const TensorRef sum = accumulate(b, run.space, retyped(node, 0, b.dtype(most)), ReduceOp::kSum,
                                   select(run.counts, power, number(power, 0)).expr);
  const Nest last = b.nest(node.outputs[0]->sizes);
  const Term total{&b.pool(), b.load(sum, last.vars)};
  b.store(node.output(0), last, (log(total) + shift_at(last.vars)).expr);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::cumsum", kReduction, accumulate_rows<ReduceOp::kSum>},
    {"aten::cumprod", kReduction, accumulate_rows<ReduceOp::kProd>},
    {"aten::cummax", kReduction, extremum_and_place<ReduceOp::kMax>},
    {"aten::cummin", kReduction, extremum_and_place<ReduceOp::kMin>},
    {"aten::logcumsumexp", kReduction, logcumsumexp},
};

}  // namespace

LoweringRows scan_rows() { return kRows; }

}  // namespace inductor
