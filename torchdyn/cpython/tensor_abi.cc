#include "torchdyn/cpython/tensor_abi.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/python_variable.h>

#include "absl/container/inlined_vector.h"

namespace torchdyn {
namespace {

std::vector<at::Tensor> tensors_of(std::span<const PyBorrow> objects) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(objects.size());
  for (const PyBorrow object : objects) tensors.push_back(THPVariable_Unpack(object.get()));
  return tensors;
}

}  // namespace

bool is_tensor(PyBorrow object) noexcept { return THPVariable_Check(object.get()); }

bool is_plain_tensor(PyBorrow object) noexcept { return THPVariable_CheckExact(object.get()); }

bool is_parameter(PyBorrow tensor) noexcept {
  return reinterpret_cast<PyObject*>(Py_TYPE(tensor.get())) == ParameterClass;
}

bool has_attributes(PyBorrow tensor) noexcept {
  PyObject* const* const dict = _PyObject_GetDictPtr(tensor.get());
  return dict && *dict && PyDict_Size(*dict) > 0;
}

TensorGeometry geometry_of(PyBorrow tensor) noexcept {
  const at::Tensor& t = THPVariable_Unpack(tensor.get());
  return {t.sizes(), t.strides()};
}

bool has_function_mode() noexcept { return at::impl::torch_function_mode_enabled(); }

const char* active_mode() noexcept {
  if (has_function_mode()) return "a function mode of torch.overrides";
  if (c10::impl::dispatch_mode_enabled()) return "a dispatch mode";
  if (at::SavedTensorDefaultHooks::get_hooks()) return "hooks on saved tensors";
  return nullptr;
}

bool is_autocast_enabled() noexcept {
  return at::autocast::is_autocast_enabled(at::kCPU) ||
         at::autocast::is_autocast_enabled(at::kCUDA);
}

bool is_grad_enabled() noexcept { return c10::GradMode::is_enabled(); }

void set_grad_enabled(bool is_on) noexcept { c10::GradMode::set_enabled(is_on); }

PyRef stand_in(const Gil&, PyBorrow object) {
  const at::Tensor& real = THPVariable_Unpack(object.get());
  at::Tensor like = at::empty_strided(real.sizes(), real.strides(),
                                      real.options().device(at::kMeta).requires_grad(false));
  like.set_requires_grad(real.requires_grad());
  return owned(THPVariable_Wrap(std::move(like)));
}

TensorGuards TensorGuards::record(std::span<const PyBorrow> tensors,
                                  const std::vector<std::string>& names,
                                  const std::vector<bool>& have_any_sizes) {
  return TensorGuards(aten_bridge::InputGuards::record(
      tensors_of(tensors), names, aten_bridge::InputGuards::kNoState, have_any_sizes));
}

// A call's tensors are checked without asking for memory, unless they are many.
bool TensorGuards::check(std::span<const PyBorrow> objects) const noexcept {
  absl::InlinedVector<const at::Tensor*, 16> tensors;
  tensors.reserve(objects.size());
  for (const PyBorrow object : objects) {
    if (!object || !is_plain_tensor(object)) return false;
    tensors.push_back(&THPVariable_Unpack(object.get()));
  }
  return !has_function_mode() && guards_.check(std::span<const at::Tensor* const>(tensors));
}

std::string TensorGuards::explain_failure(std::span<const PyBorrow> tensors) const {
  for (const PyBorrow tensor : tensors)
    if (!tensor || !is_plain_tensor(tensor)) return "a tensor is there no more";
  if (has_function_mode()) return "a function mode of torch.overrides is active";
  return guards_.explain_failure(tensors_of(tensors));
}

}  // namespace torchdyn
