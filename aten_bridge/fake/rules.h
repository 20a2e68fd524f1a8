// The families of shape rules; table.cc concatenates them.
#pragma once

#include <span>

#include "aten_bridge/fake/shape_rules.h"

namespace aten_bridge {

std::span<const ShapeRule> pointwise_rules();
std::span<const ShapeRule> reduction_rules();
std::span<const ShapeRule> index_rules();
std::span<const ShapeRule> factory_rules();
std::span<const ShapeRule> norm_rules();
std::span<const ShapeRule> conv_rules();
std::span<const ShapeRule> attention_rules();

}  // namespace aten_bridge
