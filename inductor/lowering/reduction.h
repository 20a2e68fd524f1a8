// Loops that reduce, and what they make.
//   Space space = reduction_space(b, node, self.sizes);
//   TensorRef sum = accumulate(b, space, type, ReduceOp::kSum, b.load(self, space.vars));
#pragma once

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {

// Loops over the elements of a tensor, those of reduced dimensions inside.
struct Space {
  Nest nest;
  std::vector<SymExpr> vars;  // an element's place
  std::vector<SymExpr> kept;  // that of the element of the result that it goes to
  SymExpr count = 1;          // how many go to one
};

// Over `sizes`; reduced are the dimensions that the argument `dim` names, all where there is none.
// The result keeps them, of size 1, where it has as many dimensions.
Space reduction_space(Builder& b, const Node& node, const std::vector<SymExpr>& sizes);

// A new buffer of a type whose dtype is computed in: `value` reduced over the space.
TensorRef accumulate(Builder& b, const Space& space, const TensorType& type, ReduceOp op,
                     Expr value);

// An output is this, rounded to its dtype.
void define_rounded(Builder& b, const Node& node, int output, const TensorRef& value);

// The type of an output, in another dtype.
TensorType retyped(const Node& node, int output, DType dtype);

}  // namespace inductor
