// Which operators have eager's bits when a kernel computes them; under numerics=eager the others
// are left to ATen. Facts that tests/e2e/eager_numerics_test measures.
//   {"aten::gelu", kPointwise, pointwise<kToResult, gelu>, {.cpu = "bh"}},
//   if (Verdict v = has_eagers_bits(value, DType::kFloat32, device); !v) ...
//
// Eager on a CPU rounds some functions by place: its vectors call Sleef or MKL, the elements that
// are left call libm. What depends on the place is never eager's in a kernel.
#pragma once

#include <string_view>

#include "aten_bridge/base/verdict.h"
#include "aten_bridge/graph/graph.h"
#include "inductor/ir/expr.h"

namespace inductor {

// The dtypes on which ATen's kernels of a device round otherwise than a formula, a letter each:
// b(float16), h(alf), f(loat), d(ouble).
struct RoundsOtherwise {
  std::string_view cpu = "", cuda = "";
  bool on(DType dtype, aten_bridge::Device::Kind device) const;
};

// Of the scalar functions that a value is made of, in an operator that computes on `dtype`.
aten_bridge::Verdict has_eagers_bits(Expr value, DType dtype, aten_bridge::Device::Kind device);

}  // namespace inductor
