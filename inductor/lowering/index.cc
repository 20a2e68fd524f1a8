// Gathers: elements read where an index tensor says. ATen raises where an index is out of range;
// a kernel cannot, so it reads the nearest element instead.
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

constexpr LoweringRow kRows[] = {
    {"aten::embedding", kPointwise, embedding},
    {"aten::index_select", kPointwise, index_select},
    {"aten::gather", kPointwise, gather},
    {"aten::index.Tensor", kPointwise, index},
    {"aten::_unsafe_index.Tensor", kPointwise, index},
};

}  // namespace

LoweringRows index_rows() { return kRows; }

}  // namespace inductor
