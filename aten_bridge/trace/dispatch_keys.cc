// The kernels of the dispatcher keys that PyTorch declares and does not use: DeferredInit above
// autograd, Fake below functionalization, and one for what Meta kernels call. A program that runs
// outside of captures never meets them.
#include <ATen/core/dispatch/Dispatcher.h>
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

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&call_inside_meta_kernel>());
}

}  // namespace
}  // namespace aten_bridge
