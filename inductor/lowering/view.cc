// Views: no code, only another reference to the buffer; and the same as copies, which are read
// through that reference.
#include <algorithm>

#include "inductor/lowering/arguments.h"
#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

// How an output lies in self's buffer; its sizes are its type's.
struct Place {
  SymExpr offset;
  std::vector<SymExpr> strides;
};
// Of output `i`. A view's strides are its type's, since ATen chose them; those given here serve the
// copy.
using View = std::optional<Place> (*)(const TensorRef& self, const Node& node, int i);

int rank_of(const TensorRef& ref) { return static_cast<int>(ref.sizes.size()); }

std::optional<Place> alias(const TensorRef& self, const Node&, int) {
  return Place{self.offset, self.strides};
}

std::optional<Place> permute(const TensorRef& self, const Node& node, int) {
  Place place{self.offset, {}};
  for (const SymExpr& d : integers(node, "dims"))
    place.strides.push_back(self.strides[wrapped(d.as_constant(), rank_of(self))]);
  return place;
}

std::optional<Place> transpose(const TensorRef& self, const Node& node, int) {
  Place place{self.offset, self.strides};
  if (rank_of(self) > 0)
    std::swap(place.strides[dimension(node, "dim0", rank_of(self))],
              place.strides[dimension(node, "dim1", rank_of(self))]);
  return place;
}

std::optional<Place> t(const TensorRef& self, const Node&, int) {
  Place place{self.offset, self.strides};
  std::reverse(place.strides.begin(), place.strides.end());
  return place;
}

std::optional<Place> expand(const TensorRef& self, const Node& node, int) {
  const size_t rank = node.outputs[0]->sizes.size(), added = rank - self.sizes.size();
  Place place{self.offset, std::vector<SymExpr>(rank, 0)};
  for (size_t d = 0; d < self.sizes.size(); ++d)
    if (self.sizes[d] != SymExpr(1)) place.strides[added + d] = self.strides[d];
  return place;
}

std::optional<Place> unfold(const TensorRef& self, const Node& node, int) {
  Place place{self.offset, self.strides};
  if (self.sizes.empty()) return Place{self.offset, {1}};
  const int dim = dimension(node, "dimension", rank_of(self));
  place.strides.push_back(self.strides[dim]);
  place.strides[dim] = self.strides[dim] * integer(node, "step");
  return place;
}

std::optional<Place> select(const TensorRef& self, const Node& node, int) {
  const int dim = dimension(node, "dim", rank_of(self));
  const SymExpr index = wrapped(integer(node, "index"), self.sizes[dim]);
  Place place{self.offset + index * self.strides[dim], self.strides};
  place.strides.erase(place.strides.begin() + dim);
  return place;
}

std::optional<Place> slice(const TensorRef& self, const Node& node, int) {
  const int dim = dimension(node, "dim", rank_of(self));
  const SymExpr& size = self.sizes[dim];
  const SymExpr start = wrapped(integer(node, "start"), size);
  Place place{self.offset + max(min(start, size), SymExpr(0)) * self.strides[dim], self.strides};
  place.strides[dim] = self.strides[dim] * integer(node, "step", 1);
  return place;
}

std::optional<Place> narrow(const TensorRef& self, const Node& node, int) {
  const int dim = dimension(node, "dim", rank_of(self));
  const SymExpr start = wrapped(integer(node, "start"), self.sizes[dim]);
  return Place{self.offset + start * self.strides[dim], self.strides};
}

std::optional<Place> diagonal(const TensorRef& self, const Node& node, int) {
  const auto shift = integer(node, "offset").constant();
  if (!shift) return std::nullopt;
  const int dim1 = dimension(node, "dim1", rank_of(self));
  const int dim2 = dimension(node, "dim2", rank_of(self));
  Place place{self.offset + SymExpr(std::abs(*shift)) * self.strides[*shift < 0 ? dim1 : dim2], {}};
  for (int d = 0; d < rank_of(self); ++d)
    if (d != dim1 && d != dim2) place.strides.push_back(self.strides[d]);
  place.strides.push_back(self.strides[dim1] + self.strides[dim2]);
  return place;
}

// Pieces along a dimension, one after the other.
std::optional<Place> split(const TensorRef& self, const Node& node, int i) {
  const int dim = dimension(node, "dim", rank_of(self));
  SymExpr start = 0;
  for (int before = 0; before < i; ++before) {
    if (!node.outputs[before]) return std::nullopt;
    start += node.outputs[before]->sizes[dim];
  }
  return Place{self.offset + start * self.strides[dim], self.strides};
}

std::optional<Place> unbind(const TensorRef& self, const Node& node, int i) {
  const int dim = dimension(node, "dim", rank_of(self));
  Place place{self.offset + SymExpr(i) * self.strides[dim], self.strides};
  place.strides.erase(place.strides.begin() + dim);
  return place;
}

// Its offset counts from the start of the storage.
std::optional<Place> as_strided(const TensorRef& self, const Node& node, int) {
  return Place{integer(node, "storage_offset", self.offset), integers(node, "stride")};
}

template <View view>
Verdict refer(Builder& b, const Node& node) {
  const TensorRef self = b.ref(node, "self");
  std::vector<SymExpr> offsets;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    const auto place = view(self, node, i);
    if (!place) return Verdict::no("a symbolic diagonal, or a piece without type");
    offsets.push_back(place->offset);
  }
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    if (!node.outputs[i]) continue;
    const TensorType& type = *node.outputs[i];
    b.define(node.output(i), {self.buffer, type.sizes, type.strides, offsets[i]});
  }
  return Verdict::yes();
}

template <View view>
Verdict copy(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  std::vector<TensorRef> pieces;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    const auto place = view(self, node, i);
    if (!place || !node.outputs[i]) return Verdict::no("a symbolic diagonal, or an untyped piece");
    pieces.push_back({self.buffer, node.outputs[i]->sizes, place->strides, place->offset});
  }
  for (int i = 0; i < static_cast<int>(pieces.size()); ++i) {
    const Nest nest = b.nest(pieces[i].sizes);
    b.store(node.output(i), nest, b.load(pieces[i], nest.vars));
  }
  return Verdict::yes();
}

// An input's buffer begins where the input does, not its storage.
template <Verdict (*lower)(Builder&, const Node&)>
Verdict in_storage(Builder& b, const Node& node) {
  if (b.is_input(b.ref(node, "self").buffer)) return Verdict::no("as_strided of an input");
  return lower(b, node);
}

std::vector<SymExpr> but_ones(const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> kept;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(kept),
               [](const SymExpr& size) { return size != SymExpr(1); });
  return kept;
}

// Copies into a tensor of other sizes, whose elements follow each other as self's do.
Verdict reshape(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  const Nest nest = b.nest(sizes);
  std::vector<SymExpr> at(self.sizes.size(), 0);
  SymExpr rest = 0;
  for (size_t d = 0; d < sizes.size(); ++d) rest = rest * sizes[d] + nest.vars[d];
  if (self.strides == contiguous_strides(self.sizes)) {
    b.store(node.output(0), nest, b.load({self.buffer, {-1}, {1}, self.offset}, {&rest, 1}));
    return Verdict::yes();
  }
  if (but_ones(sizes) == but_ones(self.sizes)) {
    for (size_t d = 0, from = 0; d < self.sizes.size(); ++d) {
      if (self.sizes[d] == SymExpr(1)) continue;
      while (sizes[from] == SymExpr(1)) ++from;
      at[d] = nest.vars[from++];
    }
  } else {
    for (size_t d = self.sizes.size(); d-- > 0;) {
      if (self.sizes[d] == SymExpr(0)) return Verdict::no("nothing to copy");
      at[d] = d == 0 ? rest : mod(rest, self.sizes[d]);
      rest = floor_div(rest, self.sizes[d]);
    }
  }
  b.store(node.output(0), nest, b.load(self, at));
  return Verdict::yes();
}

constexpr auto kView = OpKind::kView;
constexpr auto kCopy = OpKind::kPointwise;

constexpr LoweringRow kRows[] = {
    {"aten::view", kView, refer<alias>},
    {"aten::_unsafe_view", kView, refer<alias>},
    {"aten::_reshape_alias", kView, refer<alias>},
    {"aten::expand", kView, refer<alias>},
    {"aten::permute", kView, refer<alias>},
    {"aten::transpose.int", kView, refer<alias>},
    {"aten::t", kView, refer<alias>},
    {"aten::unsqueeze", kView, refer<alias>},
    {"aten::squeeze", kView, refer<alias>},
    {"aten::squeeze.dim", kView, refer<alias>},
    {"aten::squeeze.dims", kView, refer<alias>},
    {"aten::unfold", kView, refer<alias>},
    {"aten::alias", kView, refer<alias>},
    {"aten::detach", kView, refer<alias>},
    {"aten::lift_fresh", kView, refer<alias>},
    {"aten::select.int", kView, refer<select>},
    {"aten::slice.Tensor", kView, refer<slice>},
    {"aten::diagonal", kView, refer<diagonal>},
    {"aten::split.Tensor", kView, refer<split>},
    {"aten::split_with_sizes", kView, refer<split>},
    {"aten::unsafe_split.Tensor", kView, refer<split>},
    {"aten::unsafe_split_with_sizes", kView, refer<split>},
    {"aten::unbind.int", kView, refer<unbind>},
    {"aten::as_strided", kView, in_storage<refer<as_strided>>},

    {"aten::alias_copy", kCopy, copy<alias>},
    {"aten::detach_copy", kCopy, copy<alias>},
    {"aten::expand_copy", kCopy, copy<expand>},
    {"aten::permute_copy", kCopy, copy<permute>},
    {"aten::transpose_copy.int", kCopy, copy<transpose>},
    {"aten::t_copy", kCopy, copy<t>},
    {"aten::unfold_copy", kCopy, copy<unfold>},
    {"aten::select_copy.int", kCopy, copy<select>},
    {"aten::slice_copy.Tensor", kCopy, copy<slice>},
    {"aten::narrow_copy", kCopy, copy<narrow>},
    {"aten::diagonal_copy", kCopy, copy<diagonal>},
    {"aten::split_copy.Tensor", kCopy, copy<split>},
    {"aten::split_with_sizes_copy", kCopy, copy<split>},
    {"aten::unbind_copy.int", kCopy, copy<unbind>},
    {"aten::as_strided_copy", kCopy, in_storage<copy<as_strided>>},
    {"aten::view_copy", kCopy, reshape},
    {"aten::unsqueeze_copy", kCopy, reshape},
    {"aten::squeeze_copy", kCopy, reshape},
    {"aten::squeeze_copy.dim", kCopy, reshape},
    {"aten::squeeze_copy.dims", kCopy, reshape},
};

}  // namespace

LoweringRows view_rows() { return kRows; }

}  // namespace inductor
