// Which of an operator's arguments are indices, and where they may lie: eager raises for others,
// fused kernels read wherever they point.
//   for (const IndexBounds& bounds : index_bounds("aten::gather", args)) ...
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10 {
struct IValue;
}

namespace aten_bridge {

struct IndexBounds {
  at::Tensor index;
  int64_t size = 0;
  bool wraps = false;              // -1 is the last one
  std::optional<int64_t> ignored;  // stands for none
};

// Empty for an operator that has no row, and for indices of CUDA kernels, whose errors are not
// exceptions.
std::vector<IndexBounds> index_bounds(std::string_view op, std::span<const c10::IValue> args);

// Whether all indices are inside: a bool, computed by operators.
at::Tensor are_inside(const IndexBounds& bounds);

}  // namespace aten_bridge
