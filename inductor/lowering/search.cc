// Operators that look for an element among others: a reduction over those others. Where they are
// many, ATen's sorting is faster.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/indices.h"
#include "inductor/lowering/place.h"
#include "inductor/lowering/promote.h"
#include "inductor/lowering/reduction.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kReduction = OpKind::kReduction;

SymExpr count_of(const std::vector<SymExpr>& sizes) {
  SymExpr count = 1;
  for (const SymExpr& size : sizes) count = count * size;
  return count;
}

Verdict is_short(const SymExpr& searches, const SymExpr& among) {
  constexpr int64_t kMost = 1 << 22, kMostAmong = 4096;
  const auto n = searches.constant(), m = among.constant();
  if (!n || !m || *m > kMostAmong || *n * *m > kMost) return Verdict::no("a long search");
  return Verdict::yes();
}

// `value` reduced over the inner loops of a nest, in a new buffer of these sizes.
TensorRef reduced(Builder& b, const Node& node, const Nest& nest, const std::vector<SymExpr>& sizes,
                  ReduceOp op, const Term& value) {
  const Space space{nest, {}, {nest.vars.begin(), nest.vars.begin() + sizes.size()}};
  const TensorType type{value.dtype(), node.outputs[0]->device, sizes,
                        aten_bridge::contiguous_strides(sizes)};
  return accumulate(b, space, type, op, value.expr);
}

// ---- Writes at places along a dimension ----

struct Rows {
  int dim;
  SymExpr size;     // of self's dimension
  TensorRef index;  // a vector
};

Verdict read_rows(Builder& b, const Node& node, Rows* rows) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef& self = b.ref(node, "self");
  if (self.sizes.empty()) return Verdict::no("a 0-dimensional self");
  rows->dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  rows->size = self.sizes[rows->dim];
  rows->index = b.ref(node, "index");
  if (rows->index.sizes.empty()) {
    rows->index.sizes = {1};
    rows->index.strides = {1};
  }
  return is_short(rows->size, rows->index.sizes[0]);
}

// Of each row of self: the last place in the index that names it, or -1.
TensorRef last_naming(Builder& b, const Node& node, const Rows& rows) {
  Nest nest = b.nest({rows.size});
  const SymExpr k = b.add_level(nest, rows.index.sizes[0], LoopKind::kReduction);
  Term place = cast(DType::kInt64, {&b.pool(), b.load(rows.index, {&k, 1})});
  place = select(place < 0.0, place + index_term(b, rows.size), place);
  const Term none{&b.pool(), b.pool().integer(DType::kInt64, -1)};
  const Term is_named = place == index_term(b, nest.vars[0]);
  return reduced(b, node, nest, {rows.size}, ReduceOp::kMax,
                 select(is_named, index_term(b, k), none));
}

Verdict index_fill(Builder& b, const Node& node) {
  Rows rows;
  if (Verdict v = read_rows(b, node, &rows); !v) return v;
  const TensorRef naming = last_naming(b, node, rows);
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term k{&b.pool(), b.load(naming, {&nest.vars[rows.dim], 1})};
  b.store(node.output(0), nest, select(k >= 0.0, e["value"], e["self"]).expr);
  return Verdict::yes();
}

Verdict index_copy(Builder& b, const Node& node) {
  Rows rows;
  if (Verdict v = read_rows(b, node, &rows); !v) return v;
  const TensorRef source = b.ref(node, "source"), self = b.ref(node, "self");
  if (is_empty(source.sizes) || source.sizes.empty()) return Verdict::no("nothing to copy");
  const TensorRef naming = last_naming(b, node, rows);
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const Term k{&b.pool(), b.load(naming, {&nest.vars[rows.dim], 1})};
  const Term row{&b.pool(), b.load_at(source, nest.vars, {rows.dim}, {k.expr})};
  b.store(node.output(0), nest, either(k >= 0.0, row, {&b.pool(), b.load(self, nest.vars)}).expr);
  return Verdict::yes();
}

// ---- Membership and order ----

Verdict isin(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef elements = b.ref(node, "elements"), tests = b.ref(node, "test_elements");
  if (Verdict v = is_short(count_of(elements.sizes), count_of(tests.sizes)); !v) return v;
  Promotion operands;
  operands.add_tensor(b.dtype(elements), static_cast<int>(elements.sizes.size()));
  operands.add_tensor(b.dtype(tests), static_cast<int>(tests.sizes.size()));
  const DType dtype = compute_dtype(operands.result());
  Nest nest = b.nest(elements.sizes);
  const size_t rank = nest.vars.size();
  b.add_level(nest, 1, LoopKind::kReduction);  // so that one of a 0-dimensional test is reduced
  for (const SymExpr& size : tests.sizes) b.add_level(nest, size, LoopKind::kReduction);
  const std::span<const SymExpr> vars = nest.vars;
  const Term element = cast(dtype, {&b.pool(), b.load(elements, vars.first(rank))});
  const Term test = cast(dtype, {&b.pool(), b.load(tests, vars.subspan(rank))});
  const TensorRef found = reduced(b, node, nest, elements.sizes, ReduceOp::kMax, element == test);
  if (!flag(node, "invert")) {
    b.define(node.output(0), found);
    return Verdict::yes();
  }
  const Nest last = b.nest(node.outputs[0]->sizes);
  b.store(node.output(0), last, bit_not(Term{&b.pool(), b.load(found, last.vars)}).expr);
  return Verdict::yes();
}

// How many of a sorted row stand before a value: those not above it, or not at or above it.
Verdict place_in_order(Builder& b, const Node& node, const TensorRef& sorted, bool right) {
  const TensorRef values = b.ref(node, "self");
  if (!(b.dtype(sorted) == b.dtype(values))) return Verdict::no("of two dtypes");
  const SymExpr& among = sorted.sizes.back();
  if (Verdict v = is_short(count_of(values.sizes), among); !v) return v;
  Nest nest = b.nest(values.sizes);
  std::vector<SymExpr> at = nest.vars;
  if (sorted.sizes.size() == 1) at = {0};
  at.back() = b.add_level(nest, among, LoopKind::kReduction);
  const DType dtype = compute_dtype(b.dtype(sorted));
  const Term element = cast(dtype, {&b.pool(), b.load(sorted, at)});
  const auto rank = values.sizes.size();
  const Term value =
      cast(dtype, {&b.pool(), b.load(values, std::span<const SymExpr>(nest.vars).first(rank))});
  const Term is_before = bit_not(right ? element > value : element >= value);
  const TensorRef place =
      reduced(b, node, nest, values.sizes, ReduceOp::kSum, cast(DType::kInt64, is_before));
  const Nest last = b.nest(node.outputs[0]->sizes);
  b.store(node.output(0), last, b.load(place, last.vars));
  return Verdict::yes();
}

Verdict bucketize(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  return place_in_order(b, node, b.ref(node, "boundaries"), flag(node, "right"));
}

Verdict searchsorted(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  if (!is_none(node, "sorter")) return Verdict::no("sorted by another tensor");
  const auto* side = std::get_if<std::string>(&node.arg("side"));
  const TensorRef sorted = b.ref(node, "sorted_sequence");
  if (sorted.sizes.empty()) return Verdict::no("a 0-dimensional sequence");
  return place_in_order(b, node, sorted, side ? *side == "right" : flag(node, "right"));
}

constexpr LoweringRow kRows[] = {
    {"aten::index_fill.int_Scalar", kPointwise, index_fill},
    {"aten::index_fill.int_Tensor", kPointwise, index_fill},
    {"aten::index_copy", kPointwise, index_copy},
    {"aten::isin.Tensor_Tensor", kReduction, isin},
    {"aten::bucketize.Tensor", kReduction, bucketize},
    {"aten::searchsorted.Tensor", kReduction, searchsorted},
};

}  // namespace

LoweringRows search_rows() { return kRows; }

}  // namespace inductor
