#include "torchdyn/replay/indices.h"

#include <cstdlib>
#include <string_view>

#include "aten_bridge/base/str_cat.h"

namespace replay {
namespace {

using aten_bridge::Node;
using aten_bridge::SymExpr;
using aten_bridge::Value;

enum class Along {
  kNamedDim,  // the dimension that the argument `dim` says
  kFirst,
  kSecond,
  kEach,  // a list of indices, one a dimension
};

struct Row {
  std::string_view op, indexed, index;
  Along along;
};
constexpr Row kRows[] = {
    {"aten::cross_entropy_loss", "self", "target", Along::kSecond},
    {"aten::embedding", "weight", "indices", Along::kFirst},
    {"aten::gather", "self", "index", Along::kNamedDim},
    {"aten::index.Tensor", "self", "indices", Along::kEach},
    {"aten::index_add", "self", "index", Along::kNamedDim},
    {"aten::index_put", "self", "indices", Along::kEach},
    {"aten::index_select", "self", "index", Along::kNamedDim},
    {"aten::scatter.value", "self", "index", Along::kNamedDim},
    {"aten::scatter_add", "self", "index", Along::kNamedDim},
};

std::vector<IndexUse> uses(const Node& node, const Row& row) {
  const auto value = [&](std::string_view name) { return std::get<Value>(node.arg(name)); };
  const Value indexed = value(row.indexed);
  switch (row.along) {
    case Along::kNamedDim:
      return {{value(row.index), indexed, std::get<SymExpr>(node.arg("dim")).as_constant()}};
    case Along::kFirst:
      return {{value(row.index), indexed, 0}};
    case Along::kSecond:
      return {{value(row.index), indexed, 1}};
    case Along::kEach:
      break;
  }
  std::vector<IndexUse> uses;
  int64_t dim = 0;
  for (const auto& index : std::get<std::vector<std::optional<Value>>>(node.arg(row.index))) {
    if (index) uses.push_back({*index, indexed, dim});
    ++dim;
  }
  return uses;
}

}  // namespace

std::vector<IndexUse> index_uses(const Node& node) {
  for (const Row& row : kRows)
    if (row.op == node.op) return uses(node, row);
  return {};
}

std::optional<int64_t> index_limit(const std::string& input) {
  const size_t at = input.rfind('_');
  if (input[0] != 'i' || at == input.npos) return std::nullopt;
  return std::atoll(input.c_str() + at + 1);
}

std::string with_index_limit(const std::string& input, int64_t limit) {
  return aten_bridge::str_cat(input.substr(0, input.rfind('_')), "_", limit);
}

}  // namespace replay
