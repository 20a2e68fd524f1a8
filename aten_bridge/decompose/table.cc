#include <string_view>
#include <unordered_map>

#include "aten_bridge/base/check.h"
#include "aten_bridge/decompose/families.h"

namespace aten_bridge {

std::span<const std::span<const Decomposition>> decomposition_families() {
  using namespace decompose;
  static const std::span<const Decomposition> families[] = {
      activation_rows(), distance_rows(),    dropout_rows(),   foreach_rows(),   loss_rows(),
      matmul_rows(),     norm_rows(),        optimizer_rows(), pointwise_rows(), recurrent_rows(),
      reduce_rows(),     scaled_norm_rows(), softmax_rows(),
  };
  return families;
}

const Decomposition* find_decomposition(std::string_view op) {
  static const auto* const by_name = [] {
    auto* index = new std::unordered_map<std::string_view, const Decomposition*>();
    for (auto family : decomposition_families())
      for (const Decomposition& row : family)
        TD_CHECK(index->emplace(row.op, &row).second, "two decompositions of ", row.op);
    return index;
  }();
  const auto it = by_name->find(op);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace aten_bridge
