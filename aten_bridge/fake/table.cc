#include <vector>

#include "aten_bridge/fake/rules.h"

namespace aten_bridge {

std::span<const std::span<const ShapeRule>> shape_rule_families() {
  static const auto& families = *new std::vector<std::span<const ShapeRule>>{
      pointwise_rules(), reduction_rules(), index_rules(),         factory_rules(),  norm_rules(),
      conv_rules(),      attention_rules(), resampling_rules(),    loss_rules(),     linalg_rules(),
      fft_rules(),       histogram_rules(), embedding_bag_rules(), recurrent_rules()};
  return families;
}

const ShapeRule* find_shape_rule(std::string_view op) {
  for (const auto& family : shape_rule_families())
    for (const ShapeRule& rule : family)
      if (rule.op == op) return &rule;
  return nullptr;
}

}  // namespace aten_bridge
