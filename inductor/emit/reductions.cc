#include "inductor/emit/reductions.h"

#include <algorithm>
#include <limits>

#include "inductor/ir/visit.h"

namespace inductor {
namespace {

bool reduces_over(const Loop& loop, const Reduce& reduce) {
  return loop.kind == LoopKind::kReduction && !reduce.index.mentions(loop.var);
}

int64_t extreme(DType dtype, bool greatest) {
  const int bits = static_cast<int>(8 * aten_bridge::size_in_bytes(dtype));
  switch (aten_bridge::kind(dtype)) {
    case aten_bridge::DTypeKind::kBoolean:
      return greatest ? 1 : 0;
    case aten_bridge::DTypeKind::kUnsigned:
      return greatest ? (int64_t{1} << bits) - 1 : 0;
    default:
      return (greatest ? std::numeric_limits<int64_t>::max()
                       : std::numeric_limits<int64_t>::min()) >>
             (64 - bits);
  }
}

}  // namespace

std::vector<Reduction> reductions_started_by(const Loop& loop,
                                             std::span<const Loop* const> around) {
  std::vector<Reduction> found;
  if (loop.kind != LoopKind::kReduction) return found;
  for_each_leaf(loop.body, [&](std::span<const Loop* const> inside, const Stmt& leaf) {
    const auto* reduce = std::get_if<Reduce>(&leaf);
    if (!reduce || !reduces_over(loop, *reduce)) return;
    const auto over = [&](const Loop* l) { return reduces_over(*l, *reduce); };
    if (std::any_of(around.begin(), around.end(), over)) return;
    const auto mentioned = [&](const Loop* l) { return reduce->index.mentions(l->var); };
    found.push_back({reduce,
                     {inside.begin(), inside.end()},
                     std::none_of(inside.begin(), inside.end(), mentioned)});
  });
  return found;
}

ScalarOp scalar_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ScalarOp::add;
    case ReduceOp::kProd:
      return ScalarOp::mul;
    case ReduceOp::kMax:
      return ScalarOp::maximum;
    case ReduceOp::kMin:
      return ScalarOp::minimum;
  }
  return ScalarOp::add;
}

std::string_view across_lanes(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "td_across_sum";
    case ReduceOp::kProd:
      return "td_across_prod";
    case ReduceOp::kMax:
      return "td_across_max";
    case ReduceOp::kMin:
      return "td_across_min";
  }
  return "";
}

std::string identity(const Dialect& dialect, ReduceOp op, DType dtype) {
  const bool floating = aten_bridge::is_floating(dtype);
  if (op == ReduceOp::kSum || op == ReduceOp::kProd) {
    const int value = op == ReduceOp::kSum ? 0 : 1;
    return floating ? dialect.literal(dtype, double(value))
                    : dialect.literal(dtype, int64_t{value});
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (floating) return dialect.literal(dtype, op == ReduceOp::kMax ? -infinity : infinity);
  return dialect.literal(dtype, extreme(dtype, op == ReduceOp::kMin));
}

}  // namespace inductor
