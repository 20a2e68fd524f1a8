#include "inductor/lowering/promote.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace inductor {
namespace {

using aten_bridge::DTypeKind;

// bool < integers < floating < complex.
int category(DType dtype) {
  switch (kind(dtype)) {
    case DTypeKind::kBoolean:
      return 0;
    case DTypeKind::kUnsigned:
    case DTypeKind::kSigned:
      return 1;
    case DTypeKind::kFloating:
      return 2;
    case DTypeKind::kComplex:
      return 3;
  }
  TD_CHECK(false, "unknown kind");
}

DType promote_integers(DType a, DType b) {
  const bool same_sign = kind(a) == kind(b);
  if (same_sign) return size_in_bytes(a) >= size_in_bytes(b) ? a : b;
  const DType with_sign = kind(a) == DTypeKind::kSigned ? a : b;
  return with_sign == DType::kInt8 ? DType::kInt16 : with_sign;  // u8 with i8
}

DType promote_floating(DType a, DType b) {
  if (size_in_bytes(a) != size_in_bytes(b)) return size_in_bytes(a) > size_in_bytes(b) ? a : b;
  return a == b ? a : DType::kFloat32;  // f16 with bf16
}

// Of a complex type's parts; bf16 has no complex type of its own.
DType part(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

DType promote_complex(DType a, DType b) {
  const DType parts = promote(part(a), part(b));
  if (parts == DType::kFloat16) return DType::kComplex32;
  return parts == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const int of_a = category(a), of_b = category(b);
  if (std::max(of_a, of_b) == 3) return promote_complex(a, b);
  if (of_a != of_b) return of_a > of_b ? a : b;
  return of_a == 2 ? promote_floating(a, b) : promote_integers(a, b);
}

void Promotion::add_tensor(DType dtype, int dims) {
  join(dims > 0 ? dimensioned_ : dimensionless_, dtype);
}

// at::native::combine_categories: a lower rank counts only where it is of a higher category.
DType Promotion::result() const {
  const auto combine = [](Kind higher, Kind lower) {
    if (!higher) return lower;
    if (!lower || category(*higher) >= category(*lower)) return higher;
    return Kind(promote(*higher, *lower));
  };
  const Kind all = combine(dimensioned_, combine(dimensionless_, number_));
  TD_CHECK(all, "promotion of nothing");
  return *all;
}

}  // namespace inductor
