#include "inductor/lowering/indices.h"

#include <algorithm>

#include "inductor/lowering/term.h"

namespace inductor {

std::vector<SymExpr> Indexing::result_sizes(const TensorRef& self) const {
  std::vector<SymExpr> of_index(rank, 1);
  for (const TensorRef& i : index)
    for (size_t d = 0; d < i.sizes.size(); ++d)
      if (SymExpr& size = of_index[rank - i.sizes.size() + d]; size == SymExpr(1))
        size = i.sizes[d];
  std::vector<SymExpr> sizes;
  for (size_t d = 0; d < self.sizes.size(); ++d)
    if (std::find(dims.begin(), dims.end(), static_cast<int>(d)) == dims.end())
      sizes.push_back(self.sizes[d]);
  sizes.insert(sizes.begin() + first, of_index.begin(), of_index.end());
  return sizes;
}

std::vector<SymExpr> Indexing::kept(std::span<const SymExpr> result_vars, size_t self_rank) const {
  std::vector<SymExpr> at(self_rank, 0);
  size_t next = 0;
  for (size_t d = 0; d < self_rank; ++d) {
    if (std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end()) continue;
    if (next == first) next += rank;
    at[d] = result_vars[next++];
  }
  return at;
}

std::vector<Expr> Indexing::places(Builder& b, const TensorRef& self,
                                   std::span<const SymExpr> result_vars) const {
  std::vector<Expr> places;
  for (size_t n = 0; n < dims.size(); ++n) {
    const Expr loaded = b.load(index[n], result_vars.subspan(first, rank));
    const Term place = cast(DType::kInt64, {&b.pool(), loaded});
    const Term size{&b.pool(), b.pool().index(self.sizes[dims[n]])};
    places.push_back(select(place < 0.0, place + size, place).expr);
  }
  return places;
}

Verdict read_indexing(Builder& b, const TensorRef& self,
                      const std::vector<std::optional<Value>>& indices, Indexing* indexing) {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    const TensorRef& index = b.ref(*indices[d]);
    if (b.dtype(index) == DType::kBool || b.dtype(index) == DType::kUInt8)
      return Verdict::no("a mask as index");
    indexing->dims.push_back(static_cast<int>(d));
    indexing->index.push_back(index);
    indexing->rank = std::max(indexing->rank, index.sizes.size());
  }
  if (indexing->dims.empty()) return Verdict::no("no index");
  for (int dim : indexing->dims)
    if (self.sizes[dim] == SymExpr(0)) return Verdict::no("an index into nothing");
  // Index dimensions stand where the indexed ones were, or first where those were apart.
  const bool adjacent =
      indexing->dims.back() - indexing->dims.front() + 1 == static_cast<int>(indexing->dims.size());
  indexing->first = adjacent ? indexing->dims.front() : 0;
  return Verdict::yes();
}

}  // namespace inductor
