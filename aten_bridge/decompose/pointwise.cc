// Pointwise operators that are several scalar operations.
#include <cmath>
#include <limits>

#include "aten_bridge/decompose/families.h"
#include "aten_bridge/decompose/pieces.h"

namespace aten_bridge::decompose {
namespace {

ScalarType promoted(const Tensor& a, const Tensor& b) {
  return c10::promoteTypes(a.scalar_type(), b.scalar_type());
}

// The dtype of an operation between a tensor and scalars: a scalar counts only where its kind is
// higher.
ScalarType with_scalars(const Tensor& x, const std::optional<Scalar>& a,
                        const std::optional<Scalar>& b = std::nullopt) {
  ScalarType type = x.scalar_type();
  for (const auto& scalar : {a, b}) {
    if (!scalar) continue;
    if (scalar->isFloatingPoint() && c10::isIntegralType(type, /*includeBool=*/true))
      type = c10::get_default_dtype_as_scalartype();
    else if (scalar->isIntegral(/*includeBool=*/false) && type == at::kBool)
      type = at::kLong;
  }
  return type;
}

Tensor addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const Tensor product = opmath(a).mul(opmath(b));
  return opmath(self)
      .add(value.equal(1) ? product : product.mul(value))
      .to(c10::promoteTypes(promoted(self, a), b.scalar_type()));
}

Tensor addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const Tensor x = opmath(a);
  return opmath(self)
      .add((value.equal(1) ? x : x.mul(value)).div(opmath(b)))
      .to(c10::promoteTypes(promoted(self, a), b.scalar_type()));
}

// From the nearer end, as ATen does, so that weight 1 gives `end` exactly.
Tensor lerp_scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  const Tensor a = opmath(self), b = opmath(end), d = b.sub(a);
  const double w = weight.toDouble();
  const Tensor result = std::abs(w) < 0.5 ? a.add(d.mul(w)) : b.sub(d.mul(1 - w));
  return laid_out_as(result.to(promoted(self, end)), self);
}

Tensor lerp_tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const Tensor a = opmath(self), b = opmath(end), w = opmath(weight), d = b.sub(a);
  const Tensor near = a.add(d.mul(w)), far = b.sub(d.mul(minus(1, w)));
  return laid_out_as(select(w.abs().lt(0.5), near, far).to(promoted(self, end)), self);
}

Tensor rsub_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return other.sub(self, alpha);
}

Tensor rsub_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return (alpha.equal(1) ? self : self.mul(alpha)).neg().add(other);
}

Tensor clamp(const Tensor& self, const std::optional<Scalar>& low,
             const std::optional<Scalar>& high) {
  Tensor x = self.to(with_scalars(self, low, high));
  if (low) x = at_least(x, *low);
  if (high) x = at_most(x, *high);
  return x;
}

Tensor clamp_tensor(const Tensor& self, const MaybeTensor& low, const MaybeTensor& high) {
  Tensor x = self;
  if (low) x = x.maximum(*low);
  if (high) x = x.minimum(*high);
  return x;
}

Tensor clamp_min(const Tensor& self, const Scalar& low) {
  return decompose::clamp(self, low, std::nullopt);
}
Tensor clamp_max(const Tensor& self, const Scalar& high) {
  return decompose::clamp(self, std::nullopt, high);
}
Tensor clamp_min_tensor(const Tensor& self, const Tensor& low) { return self.maximum(low); }
Tensor clamp_max_tensor(const Tensor& self, const Tensor& high) { return self.minimum(high); }

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return laid_out_as(select(mask, value, self), self);
}

Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return laid_out_as(select(mask, value.to(self.scalar_type()), self), self);
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
  return select(condition, yes, no.to(with_scalars(no, yes)));
}

Tensor where_scalar_other(const Tensor& condition, const Tensor& yes, const Scalar& no) {
  return select(condition, yes.to(with_scalars(yes, no)), no);
}

std::pair<double, double> finite_range(ScalarType type) {
  switch (type) {
    case at::kDouble:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
    case at::kHalf:
      return {-65504.0, 65504.0};
    case at::kBFloat16:
      return {-0x1.fep127, 0x1.fep127};
    default:
      return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  }
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> positive,
                  std::optional<double> negative) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto [lowest, highest] = finite_range(self.scalar_type());
  const Tensor finite = select(self.eq(infinity), positive.value_or(highest),
                               select(self.eq(-infinity), negative.value_or(lowest), self));
  return select(self.ne(self), nan.value_or(0), finite);
}

bool is_floating_1_of_4(const Stack& stack) {
  return stack[stack.size() - 4].toTensor().is_floating_point();
}

// self * log(other), zero where self is, NaN where other is.
Tensor xlogy(const Tensor& self, const Tensor& other) {
  const Tensor x = opmath(self), y = opmath(other);
  const Tensor product = x.mul(y.log());
  const Tensor result = select(y.ne(y), y, select(x.eq(0), 0, product));
  return laid_out_as(result.to(promoted(self, other)), self);
}

Tensor logaddexp(const Tensor& self, const Tensor& other) {
  const Tensor a = opmath(self), b = opmath(other);
  const Tensor sum = a.maximum(b).add(a.sub(b).abs().neg().exp().log1p());
  const Tensor infinite = a.eq(b).logical_and(a.abs().eq(std::numeric_limits<double>::infinity()));
  return select(infinite, a, sum).to(promoted(self, other));
}

bool are_floating_2(const Stack& stack) {
  return stack.back().toTensor().is_floating_point() &&
         stack[stack.size() - 2].toTensor().is_floating_point();
}

constexpr Decomposition kRows[] = {
    {"aten::addcmul", boxed<addcmul>},
    {"aten::addcdiv", boxed<addcdiv>, is_floating_1_of_4},
    {"aten::lerp.Scalar", boxed<lerp_scalar>},
    {"aten::lerp.Tensor", boxed<lerp_tensor>},
    {"aten::rsub.Tensor", boxed<rsub_tensor>},
    {"aten::rsub.Scalar", boxed<rsub_scalar>},
    {"aten::clamp", boxed<clamp>},
    {"aten::clamp.Tensor", boxed<clamp_tensor>},
    {"aten::clamp_min", boxed<clamp_min>},
    {"aten::clamp_min.Tensor", boxed<clamp_min_tensor>},
    {"aten::clamp_max", boxed<clamp_max>},
    {"aten::clamp_max.Tensor", boxed<clamp_max_tensor>},
    {"aten::masked_fill.Scalar", boxed<masked_fill>},
    {"aten::masked_fill.Tensor", boxed<masked_fill_tensor>},
    {"aten::where.Scalar", boxed<where_scalar>},
    {"aten::where.ScalarSelf", boxed<where_scalar_self>},
    {"aten::where.ScalarOther", boxed<where_scalar_other>},
    {"aten::nan_to_num", boxed<nan_to_num>, is_floating_1_of_4},
    {"aten::xlogy.Tensor", boxed<xlogy>, are_floating_2},
    {"aten::logaddexp", boxed<logaddexp>, are_floating_2},
};

}  // namespace

std::span<const Decomposition> pointwise_rows() { return kRows; }

}  // namespace aten_bridge::decompose
