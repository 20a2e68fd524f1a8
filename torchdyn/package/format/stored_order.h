// In which order a weight's dimensions lie in the file.
//   stored_order(f32[4, 3, 2]{6, 1, 3}) == {0, 2, 1};   // row-major as [4, 2, 3]
#pragma once

#include <cstdint>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace torchdyn {

// From the largest stride to the smallest: so ordered, a tensor without gaps is row-major. Sizes
// and strides are numbers.
std::vector<int64_t> stored_order(const aten_bridge::TensorType& type);

}  // namespace torchdyn
