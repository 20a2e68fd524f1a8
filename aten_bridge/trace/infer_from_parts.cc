#include "aten_bridge/trace/infer_from_parts.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/recorder.h"
#include "aten_bridge/trace/scope.h"

namespace aten_bridge {

Inferred infer_from_parts(const Decomposition& decomposition, std::span<const c10::IValue> args) {
  Recorder elsewhere(Numerics::kDefault, /*sizes_are_open=*/true);
  elsewhere.trust_indices();
  Stack stack(args.begin(), args.end());
  int inputs = 0;
  map_tensors(stack, [&](const at::Tensor& tensor) {
    return is_fake(tensor) ? elsewhere.add_input(str_cat("x", inputs++), type_of(tensor)) : tensor;
  });
  {
    const CaptureScope scope(elsewhere, *CaptureScope::substitution());
    const c10::impl::ExcludeDispatchKeyGuard to_recorder(keys_above_fake());
    decomposition.replace(stack);
  }
  Inferred inferred{std::move(stack), {}};
  map_tensors(inferred.results, [&](const at::Tensor& fake) {
    inferred.devices.push_back(to_device(fake.device()));
    return meta_tensor(type_of(fake));
  });
  return inferred;
}

}  // namespace aten_bridge
