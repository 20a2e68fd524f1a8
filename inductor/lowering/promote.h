// ATen's type promotion over an operator's tensors and numbers.
//   Promotion p; p.add_tensor(DType::kInt64, /*dims=*/2); p.add_number(0.5);
//   p.result() == DType::kFloat32
#pragma once

#include <optional>

#include "aten_bridge/base/dtype.h"

namespace inductor {

using aten_bridge::DType;

// c10::promoteTypes.
DType promote(DType a, DType b);

// at::native::ResultTypeState: tensors with dimensions count first, then those without, then
// numbers.
class Promotion {
 public:
  void add_tensor(DType dtype, int dims);
  void add_int() { join(number_, DType::kInt64); }
  void add_double() { join(number_, DType::kFloat32); }  // the default floating dtype
  void add_bool() { join(number_, DType::kBool); }
  DType result() const;

 private:
  using Kind = std::optional<DType>;
  static void join(Kind& kind, DType dtype) { kind = kind ? promote(*kind, dtype) : dtype; }
  Kind dimensioned_, dimensionless_, number_;
};

}  // namespace inductor
