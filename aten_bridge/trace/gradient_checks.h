// Checks on values that LibTorch's own gradients make, and raise where they fail: rows.
//   if (const GradientCheck* check = running_gradient_check()) ...  // inside of svd's gradient
//
// A tangent's values are not known while the backward is recorded: each run makes the check.
#pragma once

#include <string>
#include <string_view>

namespace at {
class Tensor;
}

namespace aten_bridge {

struct GradientCheck {
  std::string_view node;  // autograd's name
  std::string_view who, what;
};

// Of the autograd node that runs on this thread; null where it makes none, and in a forward.
const GradientCheck* running_gradient_check();

// Records that `holds`, a bool of no dimensions, is true: a run in which it is not raises.
void record_check(const GradientCheck& check, const at::Tensor& holds);

}  // namespace aten_bridge
