// Constant arguments of extern calls as LibTorch's values.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "absl/status/statusor.h"

#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {

// Everything but tensors, as the schema's type wants it: 2 is 2.0 for a float, [] is what its
// element type says.
absl::StatusOr<c10::IValue> to_ivalue(const aten_bridge::ArgumentOf<TensorRef>& argument,
                                      const c10::TypePtr& type);

}  // namespace inductor
