#include "aten_bridge/trace/capture.h"

#include <optional>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include "aten_bridge/base/broken.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/joint.h"
#include "aten_bridge/trace/recorder.h"
#include "aten_bridge/trace/scope.h"
#include "aten_bridge/trace/substitution.h"
#include "aten_bridge/trace/untouched.h"

namespace aten_bridge {
namespace {

// The kinds of tensors that a fake can stand for.
const char* unsupported_kind(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) return "is not strided";
  if (tensor.is_quantized()) return "is quantized";
  if (tensor.is_nested()) return "is nested";
  if (tensor.is_conj() || tensor.is_neg()) return "is a lazily conjugated or negated view";
  if (!tensor.is_cpu() && !tensor.is_cuda()) return "is on a device that capture does not know";
  if (!tensor.has_storage()) return "has no storage";
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return "has symbolic sizes";
  return nullptr;
}

void check(const CaptureInputs& inputs) {
  TD_CHECK(inputs.tensors.size() == inputs.names.size(), "a name for each input");
  for (size_t i = 0; i < inputs.tensors.size(); ++i) {
    TD_CHECK(inputs.tensors[i].defined(), inputs.names[i], " is undefined");
    if (const char* why = unsupported_kind(inputs.tensors[i]))
      throw CaptureError(str_cat("the tensor '", inputs.names[i], "' ", why));
    to_dtype(inputs.tensors[i].scalar_type());
  }
}

// Runs the program under the capture; all references that it holds itself are gone when it returns.
Captured run_captured(const TracedCallable& callable, const Untouched& before,
                      Substitution& substitution, Recorder& recorder) {
  const CaptureScope scope(recorder, substitution);
  refuse_backward(substitution);
  const Tensors results = callable(Tensors(substitution.wrappers()));
  if (auto change = before.change()) throw CaptureError(*change);
  if (auto input = substitution.asked_for_gradient())
    throw CaptureError(str_cat("the callable looks at the .grad of '", *input,
                               "'; do that outside of the compiled callable"));
  return record_joint(results, substitution, recorder);
}

}  // namespace

Captured capture(const CaptureInputs& inputs, const TracedCallable& callable, Numerics numerics) {
  TD_CHECK(!capturing(), "a capture inside a capture");
  check(inputs);
  const Untouched before(inputs);
  Recorder recorder(numerics, inputs.sizes_are_open);
  Substitution substitution(inputs, recorder);
  Captured captured =
      while_making([&] { return print(recorder.graph()); },
                   [&] { return run_captured(callable, before, substitution, recorder); });
  // Autocast keeps casts of the stand-ins.
  if (substitution.met_autocast()) at::autocast::clear_cache();
  if (auto by = substitution.leaked())
    throw CaptureError(
        str_cat("the callable keeps a tensor that it computed by ", *by, "; return it instead"));
  while_making([&] { return print(captured.joint.graph); },
               [&] {
                 const absl::Status verified = verify(captured.joint.graph);
                 TD_CHECK(verified.ok(), std::string(verified.message()));
               });
  return captured;
}

}  // namespace aten_bridge
