// Copies: into another layout, dtype or place.
#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;

// From the operand's own dtype to the result's in one step, which rounds once.
Term copy_self(Elementwise& e) { return e.raw("self"); }
Term copy_src(Elementwise& e) { return e.raw("src"); }

// Stores `from` into the part of a buffer that `part` refers to.
void store_part(Builder& b, const TensorRef& part, const TensorRef& from) {
  const Nest nest = b.nest(part.sizes);
  b.emit_store(part, nest, b.load(from, nest.vars));
}

Verdict cat(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorType& type = *node.outputs[0];
  const int dim = dimension(node, "dim", static_cast<int>(type.sizes.size()));
  const TensorRef to = b.new_ref(type);
  SymExpr start = 0;
  const auto pieces = tensors(node, "tensors");
  if (type.sizes == std::vector<SymExpr>{0}) store_part(b, to, b.ref(*pieces[0]));
  for (const auto& piece : pieces) {
    const TensorRef from = b.ref(*piece);
    if (from.sizes == std::vector<SymExpr>{0}) continue;  // counts for nothing, whatever its rank
    TensorRef part = to;
    part.sizes = from.sizes;
    part.offset = start * to.strides[dim];
    start += from.sizes[dim];
    store_part(b, part, from);
  }
  b.define(node.output(0), to);
  return Verdict::yes();
}

Verdict stack(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorType& type = *node.outputs[0];
  const int dim = dimension(node, "dim", static_cast<int>(type.sizes.size()));
  const TensorRef to = b.new_ref(type);
  int64_t index = 0;
  for (const auto& piece : tensors(node, "tensors")) {
    TensorRef part = to;
    part.sizes.erase(part.sizes.begin() + dim);
    part.strides.erase(part.strides.begin() + dim);
    part.offset = SymExpr(index++) * to.strides[dim];
    store_part(b, part, b.ref(*piece));
  }
  b.define(node.output(0), to);
  return Verdict::yes();
}

constexpr LoweringRow kRows[] = {
    {"aten::clone", kPointwise, pointwise<Promote::kToResult, copy_self>},
    {"aten::_to_copy", kPointwise, pointwise<Promote::kToResult, copy_self>},
    {"aten::lift_fresh_copy", kPointwise, pointwise<Promote::kToResult, copy_self>},
    {"aten::copy", kPointwise, pointwise<Promote::kToResult, copy_src>},
    {"aten::cat", kPointwise, cat},
    {"aten::stack", kPointwise, stack},
};

}  // namespace

LoweringRows copy_rows() { return kRows; }

}  // namespace inductor
