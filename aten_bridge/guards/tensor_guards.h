// Guards on tensors and on LibTorch's global state: may a captured variant serve this call?
//   auto guards = InputGuards::record(tensors, names);
//   if (!guards.check(tensors)) say(guards.explain_failure(tensors));
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace aten_bridge {

// Recorded at capture; check() is noexcept and allocates nothing. Kinds are rows in guard_kinds.def.
class InputGuards {
 public:
  // Dtype, device, layout, sizes, strides, requires_grad, dispatch keys (subclasses, inference tensors), the pattern of overlapping memory among the inputs,
  // and global state: grad mode, inference mode, autocast (per device: on, dtype), default dtype,
  // deterministic algorithms, flush-denormals and what else changes what operators do.
  static InputGuards record(std::span<const at::Tensor> tensors, std::span<const std::string> names);
  InputGuards(InputGuards&&) noexcept;
  InputGuards& operator=(InputGuards&&) noexcept;
  ~InputGuards();

  bool check(std::span<const at::Tensor> tensors) const noexcept;
  // Slow path: the first guard that fails, "x: size of dimension 0 is 7, was 8"; empty when all hold.
  std::string explain_failure(std::span<const at::Tensor> tensors) const;
  std::vector<std::string> describe() const;  // one line a guard

 private:
  struct State;
  InputGuards();
  std::unique_ptr<State> state_;
};

}  // namespace aten_bridge
