// Places that are read at run time: the index tensors of gather-like and scatter-like operators.
#pragma once

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/row.h"

namespace inductor {

// x[i, :, j]: index tensors that stand for some dimensions of self (ATen's advanced indexing).
struct Indexing {
  std::vector<int> dims;         // of self that are indexed
  std::vector<TensorRef> index;  // one a dimension indexed
  size_t first = 0;              // where the index dimensions stand in the result
  size_t rank = 0;               // how many they are, after broadcasting

  // The sizes of x[i, :, j].
  std::vector<SymExpr> result_sizes(const TensorRef& self) const;
  // What loops over the result give: the variables of self's dimensions that are not indexed, in
  // place, 0 for the others.
  std::vector<SymExpr> kept(std::span<const SymExpr> result_vars, size_t self_rank) const;
  // The values of the index tensors there; negative ones count from the end.
  std::vector<Expr> places(Builder& b, const TensorRef& self,
                           std::span<const SymExpr> result_vars) const;
};

// Refuses masks: their result's size depends on their values.
Verdict read_indexing(Builder& b, const TensorRef& self,
                      const std::vector<std::optional<Value>>& indices, Indexing* indexing);

}  // namespace inductor
