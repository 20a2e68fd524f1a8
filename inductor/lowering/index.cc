// Gathers: elements read where an index tensor says. Of an index out of range a kernel reads the
// nearest element; that ATen raises there is a matter of capture (trace/index_bounds.h).
#include "inductor/lowering/elementwise.h"
#include "inductor/lowering/indices.h"
#include "inductor/lowering/place.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

// weight[indices[...], :]
Verdict embedding(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef weight = b.ref(node, "weight"), indices = b.ref(node, "indices");
  if (is_empty(weight.sizes)) return Verdict::no("an empty table");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const size_t rank = indices.sizes.size();
  const Expr place = b.load(indices, std::span(nest.vars).first(rank));
  b.store(node.output(0), nest, b.load_at(weight, {0, nest.vars[rank]}, {0}, {place}));
  return Verdict::yes();
}

// self with its dimension `dim` indexed by a vector.
Verdict index_select(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self"), index = b.ref(node, "index");
  if (is_empty(self.sizes) || self.sizes.empty())
    return Verdict::no("an empty or 0-dimensional self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const Expr place = b.load(index, std::span(nest.vars).subspan(dim, 1));
  b.store(node.output(0), nest, b.load_at(self, nest.vars, {dim}, {place}));
  return Verdict::yes();
}

// self[..., index[at], ...]: the index has self's rank.
Verdict gather(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self"), index = b.ref(node, "index");
  if (is_empty(self.sizes) || self.sizes.empty())
    return Verdict::no("an empty or 0-dimensional self");
  if (index.sizes.size() != self.sizes.size()) return Verdict::no("an index of another rank");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  const Nest nest = b.nest(node.outputs[0]->sizes);
  b.store(node.output(0), nest, b.load_at(self, nest.vars, {dim}, {b.load(index, nest.vars)}));
  return Verdict::yes();
}

Verdict index(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  Indexing indexing;
  if (Verdict v = read_indexing(b, self, tensors(node, "indices"), &indexing); !v) return v;
  const Nest nest = b.nest(node.outputs[0]->sizes);
  b.store(node.output(0), nest,
          b.load_at(self, indexing.kept(nest.vars, self.sizes.size()), indexing.dims,
                    indexing.places(b, self, nest.vars)));
  return Verdict::yes();
}

// As index; `fill` where the mask does not hold.
Verdict masked_index(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  Indexing indexing;
  if (Verdict v = read_indexing(b, self, tensors(node, "indices"), &indexing); !v) return v;
  if (indexing.result_sizes(self) != node.outputs[0]->sizes)
    return Verdict::no("a mask of more elements than there are indices");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  Elementwise e(b, node, nest, node.outputs[0]->dtype);
  const Term mask{&b.pool(), b.load(b.ref(node, "mask"), nest.vars)};
  const Term value{&b.pool(), b.load_at(self, indexing.kept(nest.vars, self.sizes.size()),
                                        indexing.dims, indexing.places(b, self, nest.vars))};
  b.store(node.output(0), nest, either(mask, cast(e.common(), value), e["fill"]).expr);
  return Verdict::yes();
}

// self as one row; negative places count from its end.
Verdict take(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const SymExpr count = element_count(tensor(node, "self").type());
  if (is_empty(self.sizes)) return Verdict::no("nothing to take");
  if (self.strides != aten_bridge::contiguous_strides(self.sizes))
    return Verdict::no("elements that do not follow each other");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  const Term place = cast(DType::kInt64, {&b.pool(), b.load(b.ref(node, "index"), nest.vars)});
  const Term wrapped = select(place < 0.0, place + index_term(b, count), place);
  const TensorRef row{self.buffer, {count}, {1}, self.offset};
  b.store(node.output(0), nest, b.load_at(row, {0}, {0}, {wrapped.expr}));
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::embedding", kPointwise, embedding},
    {"aten::index_select", kPointwise, index_select},
    {"aten::gather", kPointwise, gather},
    {"aten::index.Tensor", kPointwise, index},
    {"aten::_unsafe_index.Tensor", kPointwise, index},
    {"aten::_unsafe_masked_index", kPointwise, masked_index},
    {"aten::take", kPointwise, take},
};

}  // namespace

LoweringRows index_rows() { return kRows; }

}  // namespace inductor
