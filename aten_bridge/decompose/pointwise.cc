// where with scalars, whose dtypes promote otherwise than those of tensors.
#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

// The dtype of an operation between a tensor and a scalar: the scalar counts only where its kind is
// higher.
ScalarType with_scalar(const Tensor& x, const Scalar& scalar) {
  const ScalarType type = x.scalar_type();
  if (scalar.isFloatingPoint() && c10::isIntegralType(type, /*includeBool=*/true))
    return c10::get_default_dtype_as_scalartype();
  return scalar.isIntegral(/*includeBool=*/false) && type == at::kBool ? at::kLong : type;
}

Tensor where_scalar(const Tensor& condition, const Scalar& yes, const Scalar& no) {
  const auto type = yes.isFloatingPoint() || no.isFloatingPoint()
                        ? c10::get_default_dtype_as_scalartype()
                    : yes.isBoolean() && no.isBoolean() ? at::kBool
                                                        : at::kLong;
  const Tensor model = constant(0, condition).to(type);
  return select(condition, constant(yes, model), constant(no, model));
}

Tensor where_scalar_self(const Tensor& condition, const Scalar& yes, const Tensor& no) {
  return select(condition, yes, no.to(with_scalar(no, yes)));
}

Tensor where_scalar_other(const Tensor& condition, const Tensor& yes, const Scalar& no) {
  return select(condition, yes.to(with_scalar(yes, no)), no);
}

constexpr Decomposition kRows[] = {
    {"aten::where.Scalar", boxed<where_scalar>, nullptr, true},
    {"aten::where.ScalarSelf", boxed<where_scalar_self>, nullptr, true},
    {"aten::where.ScalarOther", boxed<where_scalar_other>, nullptr, true},
};

}  // namespace

std::span<const Decomposition> pointwise_rows() { return kRows; }

}  // namespace aten_bridge::decompose
