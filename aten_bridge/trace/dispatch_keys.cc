// The kernels of the dispatcher keys that PyTorch declares and does not use: DeferredInit above
// autograd, Fake below functionalization, and one for what Meta kernels call. A program that runs
// outside of captures never meets them.
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <torch/library.h>

#include "absl/strings/str_cat.h"

#include "aten_bridge/fake/meta_kernels.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/recorder.h"
#include "aten_bridge/trace/scope.h"
#include "aten_bridge/trace/substitution.h"

namespace aten_bridge {
namespace {

void substitute(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Substitution* substitution = CaptureScope::substitution();
  TORCH_CHECK(substitution != nullptr, name_of(op),
              " on the DeferredInit key outside of a capture");
  substitution->call(op, keys, *stack);
}

void record(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Recorder* recorder = CaptureScope::recorder();
  TORCH_CHECK(recorder != nullptr, name_of(op),
              " met a tensor that a compiled callable kept from its capture; it holds no data");
  recorder->call(op, keys, *stack);
}

TORCH_LIBRARY_IMPL(_, DeferredInit, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&substitute>());
}

TORCH_LIBRARY_IMPL(_, Fake, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&record>()); }

// A Meta kernel makes its results by these: straight, since boxing them would cost more than
// the kernel.
constexpr auto kInside = c10::DispatchKey::TESTING_ONLY_GenericWrapper;
constexpr auto kBelowInside = c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kInside);

at::Tensor empty_inside(c10::DispatchKeySet keys, c10::SymIntArrayRef size,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                        std::optional<at::Device> device, std::optional<bool> pin_memory,
                        std::optional<at::MemoryFormat> format) {
  if (device && device->is_meta())
    return at::detail::empty_symint_meta(size, dtype, layout, device, pin_memory, format);
  return at::_ops::empty_memory_format::redispatch(keys & kBelowInside, size, dtype, layout, device,
                                                   pin_memory, format);
}

at::Tensor empty_strided_inside(c10::DispatchKeySet keys, c10::SymIntArrayRef size,
                                c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout> layout, std::optional<at::Device> device,
                                std::optional<bool> pin_memory) {
  if (device && device->is_meta())
    return at::detail::empty_strided_symint_meta(size, stride, dtype, layout, device);
  return at::_ops::empty_strided::redispatch(keys & kBelowInside, size, stride, dtype, layout,
                                             device, pin_memory);
}

at::Tensor as_strided_inside(c10::DispatchKeySet keys, const at::Tensor& self,
                             c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                             std::optional<c10::SymInt> offset) {
  if (self.is_meta())
    return at::native::as_strided_tensorimpl_meta_symint(self, size, stride, std::move(offset));
  return at::_ops::as_strided::redispatch(keys & kBelowInside, self, size, stride,
                                          std::move(offset));
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericWrapper, m) {
  m.impl("as_strided", TORCH_FN(as_strided_inside));
  m.impl("empty.memory_format", TORCH_FN(empty_inside));
  m.impl("empty_strided", TORCH_FN(empty_strided_inside));
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&call_inside_meta_kernel>());
}

}  // namespace
}  // namespace aten_bridge
