// Shape rules: the types of an operator's outputs from its arguments, as eager would give them (sizes, strides, dtype, device).
//   {"aten::mm", mm},      // a row in its family's file
//
// An operator without a row uses its C++ Meta kernel when it is on the tested list (meta_kernels.cc); with neither, the whole
// call runs in eager and says so.
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
  std::string_view op;
  // Arguments as on the boxed stack; tensors among them are fakes. One entry an output, lists flattened.
  std::vector<std::optional<TensorType>> (*types)(std::span<const c10::IValue> args);
};

const ShapeRule* find_shape_rule(std::string_view op);
bool meta_kernel_is_tested(std::string_view op);

}  // namespace aten_bridge
