// Views: no code, only another reference to the buffer. The node's type carries sizes and strides.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/row.h"

namespace inductor {
namespace {

constexpr auto kView = OpKind::kView;

void define_view(Builder& b, const Node& node, int output, SymExpr offset) {
  if (!node.outputs[output]) return;
  const TensorType& type = *node.outputs[output];
  b.define(node.output(output),
           {b.ref(node, "self").buffer, type.sizes, type.strides, std::move(offset)});
}

// From the start of self.
Verdict same_start(Builder& b, const Node& node) {
  define_view(b, node, 0, b.ref(node, "self").offset);
  return Verdict::yes();
}

Verdict select(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  const SymExpr index = wrapped(integer(node, "index"), self.sizes[dim]);
  define_view(b, node, 0, self.offset + index * self.strides[dim]);
  return Verdict::yes();
}

Verdict slice(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  const SymExpr& size = self.sizes[dim];
  const SymExpr start = wrapped(integer(node, "start"), size);
  define_view(b, node, 0, self.offset + max(min(start, size), SymExpr(0)) * self.strides[dim]);
  return Verdict::yes();
}

Verdict diagonal(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const int rank = static_cast<int>(self.sizes.size());
  const auto shift = integer(node, "offset").constant();
  if (!shift) return Verdict::no("a symbolic diagonal");
  const int dim = dimension(node, *shift < 0 ? "dim1" : "dim2", rank);
  define_view(b, node, 0, self.offset + SymExpr(std::abs(*shift)) * self.strides[dim]);
  return Verdict::yes();
}

// Pieces along a dimension, one after the other.
Verdict split(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  SymExpr offset = self.offset;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    if (!node.outputs[i]) return Verdict::no("a piece without type");
    define_view(b, node, i, offset);
    offset += node.outputs[i]->sizes[dim] * self.strides[dim];
  }
  return Verdict::yes();
}

Verdict unbind(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  const int dim = dimension(node, "dim", static_cast<int>(self.sizes.size()));
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
    define_view(b, node, i, self.offset + SymExpr(i) * self.strides[dim]);
  return Verdict::yes();
}

// Its offset counts from the start of the storage, which for an input is not the buffer's start.
Verdict as_strided(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  if (b.is_input(self.buffer)) return Verdict::no("as_strided of an input");
  define_view(b, node, 0, integer(node, "storage_offset", self.offset));
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::view", kView, same_start},
    {"aten::_unsafe_view", kView, same_start},
    {"aten::_reshape_alias", kView, same_start},
    {"aten::expand", kView, same_start},
    {"aten::permute", kView, same_start},
    {"aten::transpose.int", kView, same_start},
    {"aten::t", kView, same_start},
    {"aten::unsqueeze", kView, same_start},
    {"aten::squeeze", kView, same_start},
    {"aten::squeeze.dim", kView, same_start},
    {"aten::squeeze.dims", kView, same_start},
    {"aten::unfold", kView, same_start},
    {"aten::alias", kView, same_start},
    {"aten::detach", kView, same_start},
    {"aten::lift_fresh", kView, same_start},
    {"aten::select.int", kView, select},
    {"aten::slice.Tensor", kView, slice},
    {"aten::diagonal", kView, diagonal},
    {"aten::split.Tensor", kView, split},
    {"aten::split_with_sizes", kView, split},
    {"aten::unbind.int", kView, unbind},
    {"aten::as_strided", kView, as_strided},
};

}  // namespace

LoweringRows view_rows() { return kRows; }

}  // namespace inductor
