// Scatters: elements added or written where an index tensor says.
#include <algorithm>

#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/indices.h"

namespace inductor {
namespace {

constexpr auto kScatter = OpKind::kScatter;

// A buffer of the result's layout to accumulate in, and the copy into the result where that is of
// a dtype that sums are not made in.
class Accumulator {
 public:
  Accumulator(Builder& b, const Node& node) : b_(b), node_(node) {
    TensorType type = *node.outputs[0];
    type.dtype = compute_dtype(type.dtype);
    to_ = b.new_ref(type);
  }

  const TensorRef& to() const { return to_; }

  // Starts from `self`, or from zero where there is none.
  void start(const TensorRef* self) {
    const Nest nest = b_.nest(to_.sizes);
    Elementwise e(b_, node_, nest, node_.outputs[0]->dtype);
    b_.emit_store(to_, nest, self ? b_.load(*self, nest.vars) : e.number(0).expr);
  }

  // Adds `value` at `at`, where index `dims[n]` is places[n].
  void add(const Nest& nest, std::vector<SymExpr> at, const std::vector<int>& dims,
           std::vector<Expr> places, Expr value) {
    for (size_t n = 0; n < dims.size(); ++n) {
      places[n] = b_.clamped(b_.pool().cast(DType::kInt64, places[n]), to_.sizes[dims[n]]);
      at[dims[n]] = SymExpr::symbol({'t', static_cast<int>(n)});
    }
    SymExpr address = to_.offset;
    for (size_t d = 0; d < to_.sizes.size(); ++d) address += at[d] * to_.strides[d];
    b_.emit(nest, Scatter{to_.buffer, address, std::move(places), ReduceOp::kSum,
                          b_.pool().cast(b_.dtype(to_), value)});
  }

  void finish() {
    if (b_.dtype(to_) == node_.outputs[0]->dtype) return b_.define(node_.output(0), to_);
    const Nest nest = b_.nest(to_.sizes);
    b_.store(node_.output(0), nest, b_.load(to_, nest.vars));
  }

 private:
  Builder& b_;
  const Node& node_;
  TensorRef to_;
};

// Loops over `sizes`; iterations of those named may write the same element.
Nest nest_over(Builder& b, const std::vector<SymExpr>& sizes,
               const std::function<bool(size_t)>& collides) {
  Nest nest;
  for (size_t d = 0; d < sizes.size(); ++d)
    b.add_level(nest, sizes[d], collides(d) ? LoopKind::kReduction : LoopKind::kSerial);
  return nest;
}

Verdict can_accumulate(const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  if (node.outputs[0]->dtype == DType::kBool) return Verdict::no("sums of bool");
  for (const SymExpr& size : node.outputs[0]->sizes)
    if (size == SymExpr(0)) return Verdict::no("an empty result");
  return Verdict::yes();
}

bool is_on_gpu(const Node& node) { return node.outputs[0]->device.kind == Device::Kind::kCuda; }

// One after the other they would be slow on a GPU, where ATen's kernels sort or use atomics.
Verdict can_accumulate_in_order(const Node& node) {
  if (is_on_gpu(node)) return Verdict::no("sums by index on a GPU");
  return can_accumulate(node);
}

// There, each row looks for those that have its place: worth it for few thousands. On an H200, ours
// / ATen's, rows of 768: 1,365 of them 0.024 / 0.054 ms, 8,192 alike, 21,845 0.72 / 0.21. `sizes`:
// of all rows, the last one a row's.
Verdict can_add_rows(const Node& node, const std::vector<SymExpr>& sizes) {
  constexpr int64_t kMostRows = 8 * 1024, kLongestRow = 1024;
  const SymExpr& length = sizes.back();
  SymExpr count = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) count = count * sizes[d];
  if (is_on_gpu(node) && (count.constant().value_or(kMostRows + 1) > kMostRows ||
                          length.constant().value_or(kLongestRow + 1) > kLongestRow))
    return Verdict::no("too many or too long rows for a GPU");
  return can_accumulate(node);
}

Verdict embedding_backward(Builder& b, const Node& node) {
  if (Verdict can = can_add_rows(node, b.ref(node, "grad_output").sizes); !can) return can;
  if (flag(node, "scale_grad_by_freq")) return Verdict::no("gradients scaled by frequency");
  const TensorRef grad = b.ref(node, "grad_output"), indices = b.ref(node, "indices");
  const size_t rank = indices.sizes.size();
  Accumulator sum(b, node);
  sum.start(nullptr);
  const Nest nest = nest_over(b, grad.sizes, [&](size_t d) { return d < rank; });
  const Expr place = b.load(indices, std::span(nest.vars).first(rank));
  Term value = cast(b.dtype(sum.to()), {&b.pool(), b.load(grad, nest.vars)});
  const auto padding = integer(node, "padding_idx").constant();
  if (padding && *padding >= 0) {
    const Term is_padding =
        cast(DType::kInt64, {&b.pool(), place}) == static_cast<double>(*padding);
    value = select(is_padding, number(value, 0), value);
  }
  sum.add(nest, {0, nest.vars[rank]}, {0}, {place}, value.expr);
  sum.finish();
  return Verdict::yes();
}

Verdict scatter_add(Builder& b, const Node& node) {
  if (Verdict can = can_accumulate_in_order(node); !can) return can;
  const TensorRef self = b.ref(node, "self"), index = b.ref(node, "index");
  const TensorRef src = b.ref(node, "src");
  if (self.sizes.empty()) return Verdict::no("a 0-dimensional self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  Accumulator sum(b, node);
  sum.start(&self);
  const Nest nest = nest_over(b, index.sizes, [&](size_t d) { return static_cast<int>(d) == dim; });
  // src may be larger than the index: read at the index's places.
  const Expr value = b.pool().load(src.buffer, b.address(src, nest.vars), b.dtype(src));
  sum.add(nest, nest.vars, {dim}, {b.load(index, nest.vars)}, value);
  sum.finish();
  return Verdict::yes();
}

Verdict index_add(Builder& b, const Node& node) {
  if (Verdict can = can_accumulate_in_order(node); !can) return can;
  const TensorRef self = b.ref(node, "self"), source = b.ref(node, "source");
  const TensorRef index = b.ref(node, "index");
  if (self.sizes.empty()) return Verdict::no("a 0-dimensional self");
  if (integer(node, "alpha", 1) != SymExpr(1)) return Verdict::no("scaled by alpha");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  Accumulator sum(b, node);
  sum.start(&self);
  const Nest nest =
      nest_over(b, source.sizes, [&](size_t d) { return static_cast<int>(d) == dim; });
  const Expr place = b.load(index, std::span(nest.vars).subspan(dim, 1));
  sum.add(nest, nest.vars, {dim}, {place}, b.load(source, nest.vars));
  sum.finish();
  return Verdict::yes();
}

Verdict index_put(Builder& b, const Node& node) {
  if (!flag(node, "accumulate")) return Verdict::no("the last of several writes wins");
  const TensorRef self = b.ref(node, "self"), values = b.ref(node, "values");
  Indexing indexing;
  if (Verdict v = read_indexing(b, self, tensors(node, "indices"), &indexing); !v) return v;
  std::vector<SymExpr> sizes = indexing.result_sizes(self);
  const bool of_rows = indexing.first == 0 && indexing.rank == 1 && sizes.size() == 2;
  if (Verdict can = of_rows ? can_add_rows(node, sizes) : can_accumulate_in_order(node); !can)
    return can;
  Accumulator sum(b, node);
  sum.start(&self);
  const Nest nest = nest_over(b, sizes, [&](size_t d) {
    return d >= indexing.first && d < indexing.first + indexing.rank;
  });
  sum.add(nest, indexing.kept(nest.vars, self.sizes.size()), indexing.dims,
          indexing.places(b, self, nest.vars), b.load(values, nest.vars));
  sum.finish();
  return Verdict::yes();
}

// One element a place along `dim`: each element of the result is that one or self's.
Verdict scatter(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self"), index = b.ref(node, "index");
  if (self.sizes.empty()) return Verdict::no("a 0-dimensional self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  for (int d = 0; d < static_cast<int>(self.sizes.size()); ++d)
    if (index.sizes[d] != (d == dim ? SymExpr(1) : self.sizes[d]))
      return Verdict::no("several writes to one element");
  const Nest nest = b.nest(self.sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  std::vector<SymExpr> at = nest.vars;
  at[dim] = 0;
  const Term place = cast(DType::kInt64, {&b.pool(), b.load(index, at)});
  const Term here{&b.pool(), b.pool().index(nest.vars[dim])};
  Term value;
  if (node.op == "aten::scatter.value") {
    value = e["value"];
  } else {
    TensorRef src = b.ref(node, "src");  // may be larger than the index: read its first
    src.sizes = index.sizes;
    value = cast(compute_dtype(e.common()), {&b.pool(), b.load(src, at)});
  }
  const Term result = select(here == place, value, e["self"]);
  if (!result) return Verdict::no("not scattered by real numbers");
  b.store(node.output(0), nest, result.expr);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::embedding_dense_backward", kScatter, embedding_backward},
    {"aten::scatter_add", kScatter, scatter_add},
    {"aten::index_add", kScatter, index_add},
    {"aten::index_put", kScatter, index_put},
    {"aten::scatter.value", OpKind::kPointwise, scatter},
    {"aten::scatter.src", OpKind::kPointwise, scatter},
};

}  // namespace

LoweringRows scatter_rows() { return kRows; }

}  // namespace inductor
