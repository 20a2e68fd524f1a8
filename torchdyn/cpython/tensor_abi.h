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

bool is_parameter(PyBorrow tensor) noexcept;  // torch.nn.Parameter
// Whether Python has given it attributes; marks on its sizes are such.
bool has_attributes(PyBorrow tensor) noexcept;

struct TensorGeometry {
  std::span<const int64_t> sizes, strides;
};
// Of a plain tensor whose sizes are numbers, while it lives.
TensorGeometry geometry_of(PyBorrow tensor) noexcept;

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
  // Sizes and strides of those that may have any are the caller's to check; empty: none.
  static TensorGuards record(std::span<const PyBorrow> tensors,
                             const std::vector<std::string>& names,
                             const std::vector<bool>& have_any_sizes = {});

  // Tensors in the order of record(); null ones fail, and so do subclasses and function modes.
  bool check(std::span<const PyBorrow> tensors) const noexcept;
  std::string explain_failure(std::span<const PyBorrow> tensors) const;
  std::vector<std::string> describe() const { return guards_.describe(); }

 private:
  explicit TensorGuards(aten_bridge::InputGuards guards) : guards_(std::move(guards)) {}
  aten_bridge::InputGuards guards_;
};

}  // namespace torchdyn
