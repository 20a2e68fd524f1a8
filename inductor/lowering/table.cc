#include "absl/container/flat_hash_map.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/lowering/row.h"

namespace inductor {

std::span<const LoweringRows> lowering_families() {
  static const LoweringRows kFamilies[] = {
      activation_rows(), copy_rows(),    diagonal_rows(),  extremum_rows(), factory_rows(),
      index_rows(),      pad_rows(),     pointwise_rows(), pool_rows(),     random_rows(),
      reduce_rows(),     reorder_rows(), scan_rows(),      scatter_rows(),  search_rows(),
      slice_rows(),      special_rows(), upsample_rows(),  view_rows(),
  };
  return kFamilies;
}

const LoweringRow* find_lowering(std::string_view op) {
  static const auto* const kIndex = [] {
    auto* index = new absl::flat_hash_map<absl::string_view, const LoweringRow*>();
    for (LoweringRows family : lowering_families())
      for (const LoweringRow& row : family) {
        const bool is_new = index->emplace(aten_bridge::to_absl(row.op), &row).second;
        TD_CHECK(is_new, "two lowering rows for ", row.op);
      }
    return index;
  }();
  const auto found = kIndex->find(aten_bridge::to_absl(op));
  return found == kIndex->end() ? nullptr : found->second;
}

OpKind kind_of(std::string_view op) {
  const LoweringRow* row = find_lowering(op);
  return row ? row->kind : OpKind::kExtern;
}

namespace {

// Attention draws random numbers where it drops out.
bool drops_out(const Node& node) {
  for (const auto& [name, value] : node.args) {
    if (name != "dropout_p") continue;
    const auto* p = std::get_if<double>(&value);
    return !p || *p != 0;
  }
  return false;
}

}  // namespace

aten_bridge::Recompute recompute_of(const Node& node) {
  using aten_bridge::Recompute;
  if (node.outputs.empty() || drops_out(node)) return Recompute::kForbidden;
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
