// Guards on tensors and on LibTorch's global state: may a captured variant serve this call?
//   auto guards = InputGuards::record(tensors, names);
//   if (!guards.check(tensors)) say(guards.explain_failure(tensors));
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace aten_bridge {

// Recorded at capture; check() is noexcept and allocates nothing. Kinds are rows in
// guard_kinds.def: global state (grad mode, inference mode, autocast, default dtype, deterministic
// algorithms, flush-denormals, and what else changes which operators run), then per tensor its
// dispatch keys (subclasses, inference tensors), dtype, device, requires_grad, sizes and strides,
// then the pattern of overlapping memory among the inputs. The guards hold no tensor.
class InputGuards {
 public:
  static constexpr size_t kNoState = static_cast<size_t>(-1);

  // Tensors from `first_state` on are declared state, of which a module's members hold handles:
  // their guards fail when a handle went away, since a member may have been given another tensor.
  // Before capture, when nothing of ours holds them but the caller's list; check() is called with a
  // list that holds them alike. A false alarm (a graph or an optimizer was let go) costs one
  // recapture, whose record is lower; so their number is bounded by the handles at the first
  // capture.
  // Sizes and strides of tensors that may have any (`has_any_sizes`, empty: none) are the caller's
  // to check.
  static InputGuards record(std::span<const at::Tensor> tensors, std::span<const std::string> names,
                            size_t first_state = kNoState,
                            const std::vector<bool>& has_any_sizes = {});
  InputGuards(InputGuards&&) noexcept;
  InputGuards& operator=(InputGuards&&) noexcept;
  ~InputGuards();

  // Without handles: whether a handle that went away is all that can keep them from holding.
  bool check(std::span<const at::Tensor> tensors, bool with_handles = true) const noexcept;
  // The same of tensors that lie apart.
  bool check(std::span<const at::Tensor* const> tensors) const noexcept;
  // Slow path: the first guard that fails, "x: size of dimension 0 is 7, was 8"; empty when all
  // hold.
  std::string explain_failure(std::span<const at::Tensor> tensors) const;
  std::vector<std::string> describe() const;  // one line a guard

 private:
  struct State;
  InputGuards();
  template <class Tensors>
  bool hold(Tensors tensors, bool with_handles) const noexcept;
  std::unique_ptr<State> state_;
};

// The rows' names, in the order of checking: "GradMode", "Dtype".
std::span<const std::string_view> guard_kinds();

}  // namespace aten_bridge
