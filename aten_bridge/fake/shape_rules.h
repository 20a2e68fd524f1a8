// Shape rules: the types of an operator's outputs from its arguments, as eager would give them
// (sizes, strides, dtype, device).
//   {"aten::mm", mm},      // a row in its family's file
//
// An operator without a row uses its C++ Meta kernel when it is on the tested list
// (meta_kernel_list.cc); with neither, the whole call runs in eager and says so.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aten_bridge/graph/graph.h"

namespace c10 {
struct IValue;
}

namespace aten_bridge {

struct ShapeRule {
  using Arguments = std::span<const c10::IValue>;
  std::string_view op;
  // Arguments as on the boxed stack; tensors among them are fakes. One entry an output, in the
  // schema's order, or one a tensor of its only output, a list; none for an undefined tensor and
  // for a number.
  std::vector<std::optional<TensorType>> (*types)(Arguments args);
  // The value of output number `output`, which is an int; null where all outputs are tensors.
  int64_t (*number)(Arguments args, int output) = nullptr;
};

const ShapeRule* find_shape_rule(std::string_view op);
std::span<const std::span<const ShapeRule>> shape_rule_families();  // table.cc

}  // namespace aten_bridge
