// The families' rows, one array a file; table.cc concatenates them.
#pragma once

#include <span>

#include "aten_bridge/decompose/decompose.h"

namespace aten_bridge::decompose {

std::span<const Decomposition> activation_rows();
std::span<const Decomposition> convolution_rows();
std::span<const Decomposition> distance_rows();
std::span<const Decomposition> dropout_rows();
std::span<const Decomposition> foreach_rows();
std::span<const Decomposition> loss_rows();
std::span<const Decomposition> matmul_rows();
std::span<const Decomposition> norm_rows();
std::span<const Decomposition> optimizer_rows();
std::span<const Decomposition> pointwise_rows();
std::span<const Decomposition> recurrent_rows();
std::span<const Decomposition> reduce_rows();
std::span<const Decomposition> scaled_norm_rows();
std::span<const Decomposition> softmax_rows();

}  // namespace aten_bridge::decompose
