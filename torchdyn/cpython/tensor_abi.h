// Python tensors, as far as capture looks into them: the one file here that knows ATen.
//   if (is_tensor(x)) { PyRef like = stand_in(gil, x); }
//   TensorGuards guards = TensorGuards::record(tensors, names);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "aten_bridge/guards/tensor_guards.h"
#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

bool is_tensor(PyBorrow object) noexcept;        // subclasses too
bool is_plain_tensor(PyBorrow object) noexcept;  // torch.Tensor or torch.nn.Parameter itself

// Whether Python functions of torch's are diverted on this thread (torch.overrides).
bool has_function_mode() noexcept;
// What of this thread's state would notice operations on tensors without data, or would do
// otherwise with them than with those that have some; null: nothing.
const char* active_mode() noexcept;

// Whether autocast is on for any of the devices that this library knows.
bool is_autocast_enabled() noexcept;
// The grad mode of this thread.
bool is_grad_enabled() noexcept;
void set_grad_enabled(bool is_on) noexcept;

// A tensor without data and without a gradient's history, of a tensor's dtype, geometry and
// requires_grad: what functions give for it tells what they give for the tensor, but for devices.
PyRef stand_in(const Gil&, PyBorrow tensor);

// aten_bridge/guards on tensors that Python holds, and on LibTorch's global state.
class TensorGuards {
 public:
  static TensorGuards record(std::span<const PyBorrow> tensors,
                             const std::vector<std::string>& names);

  // Tensors in the order of record(); null ones fail, and so do subclasses and function modes.
  bool check(std::span<const PyBorrow> tensors) const noexcept;
  std::string explain_failure(std::span<const PyBorrow> tensors) const;
  std::vector<std::string> describe() const { return guards_.describe(); }

 private:
  explicit TensorGuards(aten_bridge::InputGuards guards) : guards_(std::move(guards)) {}
  aten_bridge::InputGuards guards_;
};

}  // namespace torchdyn
