#include "aten_bridge/graph/view_strides.h"

#include <algorithm>
#include <string_view>

namespace aten_bridge {
namespace {

int64_t wrapped(const ArgumentValue& argument, const TensorType& self) {
  const int64_t dim = std::get<SymExpr>(argument).as_constant();
  return dim < 0 ? dim + static_cast<int64_t>(self.sizes.size()) : dim;
}

std::optional<Strides> permute(const Node& node, const TensorType& self) {
  Strides strides;
  for (const SymExpr& dim : std::get<std::vector<SymExpr>>(node.arg("dims")))
    strides.push_back(self.strides[static_cast<size_t>(wrapped(dim, self))]);
  return strides;
}

std::optional<Strides> t(const Node&, const TensorType& self) {
  return Strides(self.strides.rbegin(), self.strides.rend());
}

std::optional<Strides> transpose(const Node& node, const TensorType& self) {
  Strides strides = self.strides;
  if (!strides.empty())
    std::swap(strides[static_cast<size_t>(wrapped(node.arg("dim0"), self))],
              strides[static_cast<size_t>(wrapped(node.arg("dim1"), self))]);
  return strides;
}

std::optional<Strides> slice(const Node& node, const TensorType& self) {
  Strides strides = self.strides;
  SymExpr& along = strides[static_cast<size_t>(wrapped(node.arg("dim"), self))];
  along = along * std::get<SymExpr>(node.arg("step"));
  return strides;
}

std::optional<Strides> select(const Node& node, const TensorType& self) {
  Strides strides = self.strides;
  strides.erase(strides.begin() + wrapped(node.arg("dim"), self));
  return strides;
}

// Other sizes: each group of dimensions that lie as one must be cut at its bounds.
std::optional<Strides> view(const Node& node, const TensorType& self) {
  const std::vector<SymExpr>& sizes = node.outputs[0]->sizes;
  Strides strides(sizes.size());
  size_t to = sizes.size();
  int64_t whole = 1, base = self.sizes.empty() ? 1 : self.strides.back().as_constant();
  for (size_t from = self.sizes.size(); from-- > 0;) {
    whole *= self.sizes[from].as_constant();
    const bool ends = from == 0 || (self.sizes[from - 1] != SymExpr(1) &&
                                    self.strides[from - 1].as_constant() != whole * base);
    if (!ends) continue;
    int64_t left = whole, stride = base;
    while (to > 0 && (left > 1 || sizes[to - 1] == SymExpr(1))) {
      const int64_t size = sizes[--to].as_constant();
      strides[to] = stride;
      stride *= size;
      if (size == 0 || left % size != 0) return std::nullopt;
      left /= size;
    }
    if (left != 1) return std::nullopt;
    if (from > 0) {
      whole = 1;
      base = self.strides[from - 1].as_constant();
    }
  }
  return to == 0 ? std::optional(strides) : std::nullopt;
}

struct Row {
  std::string_view op;
  std::optional<Strides> (*strides)(const Node& node, const TensorType& self);
};
constexpr Row kRows[] = {
    {"aten::view", view},
    {"aten::_unsafe_view", view},
    {"aten::unsqueeze", view},
    {"aten::squeeze", view},
    {"aten::squeeze.dim", view},
    {"aten::squeeze.dims", view},
    {"aten::alias", view},
    {"aten::detach", view},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::t", t},
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
};

const Row* find(const Node& node) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.op == node.op; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool is_known_view(const Node& node) { return find(node) != nullptr; }

std::optional<Strides> strides_of_view(const Node& node, const TensorType& self) {
  const Row* row = find(node);
  return row ? row->strides(node, self) : std::nullopt;
}

}  // namespace aten_bridge
