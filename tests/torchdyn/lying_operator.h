// An operator whose shape rule says float where its results are double: what it returns fails a
// check of the compiled graph. In eager it is x + 1 in double.
//   Tensor y = lying_sum(x);
#pragma once

#include <ATen/core/Tensor.h>

namespace torchdyn::testing {

inline constexpr char kLyingOperator[] = "torchdyn_test::lying_sum";
at::Tensor lying_sum(const at::Tensor& x);

}  // namespace torchdyn::testing
