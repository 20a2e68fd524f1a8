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
std::span<const ShapeRule> resampling_rules();
std::span<const ShapeRule> loss_rules();
std::span<const ShapeRule> linalg_rules();
std::span<const ShapeRule> fft_rules();
std::span<const ShapeRule> histogram_rules();
std::span<const ShapeRule> embedding_bag_rules();
std::span<const ShapeRule> recurrent_rules();

}  // namespace aten_bridge
