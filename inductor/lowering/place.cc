#include "inductor/lowering/place.h"

#include <algorithm>

#include "inductor/lowering/elementwise.h"

namespace inductor {

Term index_term(Builder& b, const SymExpr& value) { return {&b.pool(), b.pool().index(value)}; }

Term is_inside(Builder& b, const SymExpr& index, const SymExpr& size) {
  if (size == SymExpr(1)) return index_term(b, index) == 0.0;
  return bit_and(index_term(b, index) >= 0.0, index_term(b, size - index) > 0.0);
}

SymExpr nearest(const SymExpr& index, const SymExpr& size) {
  return max(min(index, size - 1), SymExpr(0));
}

Term either(const Term& condition, const Term& a, const Term& b) {
  if (!a) return a;
  const DType dtype = compute_dtype(a.dtype());
  return select(condition, cast(dtype, a), cast(dtype, b));
}

bool is_empty(const std::vector<SymExpr>& sizes) {
  return std::find(sizes.begin(), sizes.end(), SymExpr(0)) != sizes.end();
}

Verdict reorder(Builder& b, const Node& node, const std::function<Places(Places)>& change) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const Nest nest = b.nest(node.outputs[0]->sizes);
  if (is_empty(self.sizes)) return Verdict::no("nothing to read");
  b.store(node.output(0), nest, b.load(self, change(nest.vars)));
  return Verdict::yes();
}

}  // namespace inductor
