#include <memory>
#include <string_view>

#include "aten_bridge/base/row_index.h"
#include "aten_bridge/decompose/families.h"

namespace aten_bridge {

std::span<const std::span<const Decomposition>> decomposition_families() {
  using namespace decompose;
  static const std::span<const Decomposition> families[] = {
      activation_rows(), convolution_rows(), distance_rows(),    dropout_rows(),   foreach_rows(),
      loss_rows(),       matmul_rows(),      norm_rows(),        optimizer_rows(), pointwise_rows(),
      recurrent_rows(),  reduce_rows(),      scaled_norm_rows(), softmax_rows(),
  };
  return families;
}

namespace {

RowIndex<Decomposition>& index() {
  static auto& rows = *new RowIndex<Decomposition>(decomposition_families());
  return rows;
}

}  // namespace

const Decomposition* find_decomposition(std::string_view op) {
  const Decomposition* row = index().find(op);
  return row != nullptr && (row->run != nullptr || row->joined != nullptr) ? row : nullptr;
}

void add_decomposition(std::string_view op, std::function<void(Stack&)> function) {
  auto owned = std::make_shared<const std::function<void(Stack&)>>(std::move(function));
  index().add({.op = op, .run = nullptr, .joined = *owned ? owned.get() : nullptr}, owned);
}

}  // namespace aten_bridge
