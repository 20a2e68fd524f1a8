#include <memory>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/row_index.h"
#include "inductor/lowering/element.h"
#include "inductor/lowering/row.h"

namespace inductor {

std::span<const LoweringRows> lowering_families() {
  static const LoweringRows kFamilies[] = {
      activation_rows(), copy_rows(),   depthwise_rows(), diagonal_rows(), extremum_rows(),
      factory_rows(),    index_rows(),  pad_rows(),       philox_rows(),   pointwise_rows(),
      pool_rows(),       random_rows(), reduce_rows(),    reorder_rows(),  scan_rows(),
      scatter_rows(),    search_rows(), slice_rows(),     special_rows(),  upsample_rows(),
      view_rows(),
  };
  return kFamilies;
}

namespace {

aten_bridge::RowIndex<LoweringRow>& index() {
  static auto& rows = *new aten_bridge::RowIndex<LoweringRow>(lowering_families());
  return rows;
}

}  // namespace

const LoweringRow* find_lowering(std::string_view op) { return index().find(op); }

void add_lowering(std::string_view op, ElementFunction function) {
  auto owned = std::make_shared<const ElementFunction>(std::move(function));
  constexpr RoundsOtherwise kAnywhere{.cpu = "bhfd", .cuda = "bhfd"};
  index().add({op, OpKind::kPointwise, nullptr, kAnywhere, owned.get()}, owned);
}

OpKind kind_of(std::string_view op) {
  const LoweringRow* row = find_lowering(op);
  return row ? row->kind : OpKind::kExtern;
}

bool writes_any_strides(const Node& node) {
  const OpKind kind = kind_of(node.op);
  return kind == OpKind::kPointwise || kind == OpKind::kReduction || kind == OpKind::kScatter;
}

aten_bridge::Recompute recompute_of(const Node& node) {
  using aten_bridge::Recompute;
  if (node.outputs.empty() || dropout_of(node).value_or(0) != 0) return Recompute::kForbidden;
  switch (kind_of(node.op)) {
    case OpKind::kView:
      return Recompute::kFree;
    case OpKind::kPointwise:
      return node.inputs().empty() ? Recompute::kFree : Recompute::kFusible;
    case OpKind::kReduction:
    case OpKind::kScatter:
    case OpKind::kExtern:
      return Recompute::kExpensive;
    case OpKind::kRandom:
      return Recompute::kForbidden;
  }
  TD_CHECK(false, "unknown kind");
}

}  // namespace inductor
