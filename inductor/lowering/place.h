// Reading elements at places that are computed, and may lie outside of the tensor.
//   const Term inside = is_inside(b, i - 1, size);
//   return either(inside, {&b.pool(), b.load(ref, {&(at = nearest(i - 1, size)), 1})}, zero);
#pragma once

#include <functional>

#include "inductor/lowering/row.h"
#include "inductor/lowering/term.h"

namespace inductor {

using aten_bridge::SymExpr;

Term index_term(Builder& b, const SymExpr& value);
// 0 <= index < size.
Term is_inside(Builder& b, const SymExpr& index, const SymExpr& size);
// The index inside of [0, size) that is nearest.
SymExpr nearest(const SymExpr& index, const SymExpr& size);
// select, where float16 and bfloat16 are chosen from as float32.
Term either(const Term& condition, const Term& a, const Term& b);

bool is_empty(const std::vector<SymExpr>& sizes);

// The result's elements are self's at other places: `change` turns a place in the result, after
// which self's dimensions are counted, into one in self.
using Places = std::vector<SymExpr>;
Verdict reorder(Builder& b, const Node& node, const std::function<Places(Places)>& change);

}  // namespace inductor
