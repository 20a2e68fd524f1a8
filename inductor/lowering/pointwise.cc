// Arithmetic, comparison, logic, choice and the elementary functions. Each formula is ATen's own.
#include <cmath>
#include <limits>

#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kToResult = Promote::kToResult;
constexpr auto kOperands = Promote::kOperands;

template <ScalarOp op>
Term unary(Elementwise& e) {
  return apply(op, {e["self"]});
}
template <ScalarOp op>
Term binary(Elementwise& e) {
  return apply(op, {e.operand("self"), e.operand("other")});
}
// On truth values, each operand by itself.
template <ScalarOp op>
Term logical(Elementwise& e) {
  return apply(op, {truth(e.raw("self")), truth(e.raw("other"))});
}
// Rounding leaves integers alone.
template <ScalarOp op>
Term rounding(Elementwise& e) {
  const Term x = e["self"];
  return is_integral(x.dtype()) ? x : apply(op, {x});
}

// ---- Arithmetic ----

// Those of truth values are "and" and "or".
Term product(const Term& x, const Term& y) {
  return x.dtype() == DType::kBool ? bit_and(x, y) : x * y;
}
Term sum(const Term& x, const Term& y) { return x.dtype() == DType::kBool ? bit_or(x, y) : x + y; }
// a + alpha * b. Half types round the product, or not, by place; so is a number's.
Term add_scaled(Elementwise& e, const Term& a, const Term& b) {
  if (e.known("alpha") == 1.0) return a + b;
  if (e.forbids({.cpu = e.known("other") ? "bhfd" : "bh"})) return e.refuse();
  return multiply_add(b, e.operand("alpha"), a);
}
Term subtract_scaled(Elementwise& e, const Term& a, const Term& b) {
  if (e.known("alpha") == 1.0) return a - b;
  if (e.forbids({.cpu = e.known("other") ? "bhfd" : "bh"})) return e.refuse();
  return multiply_add(b, -e.operand("alpha"), a);
}
Term add(Elementwise& e) {
  if (e.common() != DType::kBool) return add_scaled(e, e["self"], e.operand("other"));
  return sum(e["self"], e.known("alpha") == 1.0 ? e["other"] : product(e["other"], e["alpha"]));
}
Term sub(Elementwise& e) { return subtract_scaled(e, e["self"], e.operand("other")); }
Term rsub(Elementwise& e) { return subtract_scaled(e, e.operand("other"), e["self"]); }
Term mul(Elementwise& e) { return product(e["self"], e["other"]); }

// ATen raises where an integer is divided by zero.
bool may_raise(Elementwise& e) {
  return is_integral(e.common()) && e.known("other").value_or(0) == 0;
}
template <ScalarOp op>
Term checked(Elementwise& e) {
  return may_raise(e) ? e.refuse() : binary<op>(e);
}
Term floor_divide(Elementwise& e) {
  return may_raise(e) ? e.refuse() : apply(ScalarOp::floor_div, {e["self"], e["other"]});
}
// By a number, CUDA's kernel multiplies by its reciprocal, which is exact for a power of two.
Term quotient(Elementwise& e) {
  int exponent = 0;
  const auto other = e.known("other");
  const bool is_exact = !other || std::fabs(std::frexp(*other, &exponent)) == 0.5;
  if (!is_exact && e.forbids({.cuda = "bhfd"})) return e.refuse();
  return e["self"] / e["other"];
}
Term divide(Elementwise& e) {
  const std::string_view mode = e.text("rounding_mode");
  if (mode == "floor") return floor_divide(e);
  if (mode != "trunc") return quotient(e);
  // The quotient is rounded first.
  if (e.forbids({.cpu = "bh", .cuda = "bh"})) return e.refuse();
  return is_integral(e.common()) ? checked<ScalarOp::trunc_div>(e) : trunc(e["self"] / e["other"]);
}

Term sign(Elementwise& e) {
  const Term x = e["self"];
  if (x.dtype() == DType::kBool) return x;
  return cast(x.dtype(), x > 0.0) - cast(x.dtype(), x < 0.0);
}
Term heaviside(Elementwise& e) {
  const Term x = e["self"];
  if (x.dtype() == DType::kBool) return bit_or(x, e["values"]);
  return select(x == 0.0, e["values"], cast(x.dtype(), x > 0.0));
}
Term degrees(Elementwise& e) { return e["self"] * (180 / M_PI); }
Term radians(Elementwise& e) { return e["self"] * (M_PI / 180); }
Term angle(Elementwise& e) {
  if (e.on_cuda() && compute_dtype(e.common()) != e.common()) return e.refuse();  // ATen raises
  const Term x = e["self"];
  return select(x != x, x, select(x < 0.0, number(x, M_PI), number(x, 0)));
}
Term reciprocal(Elementwise& e) { return 1.0 / e["self"]; }
Term frac(Elementwise& e) { return e["self"] - trunc(e["self"]); }

// ATen has kernels of their own for these exponents.
Term pow_by_number(Elementwise& e) {
  const Term x = e["self"];
  const auto p = e.known("exponent");
  if (p == 0.0) return number(x, 1);
  if (p == 1.0) return x;
  if (p == 2.0) return x * x;
  if (p == 3.0)
    return e.forbids({.cpu = "b", .cuda = "bh"}) ? e.refuse() : x * x * x;  // the square is rounded
  if (!is_floating(e.common()) || (p != -1.0 && e.forbids({.cpu = "bh", .cuda = "bh"})))
    return e.refuse();
  if (p == 0.5) return sqrt(x);
  if (p == -0.5) return e.forbids({.cuda = "fd"}) ? e.refuse() : 1.0 / sqrt(x);
  if (p == -1.0) return 1.0 / x;
  if (p == -2.0) return 1.0 / (x * x);
  return pow(x, e.operand("exponent"));
}
Term pow_by_tensor(Elementwise& e) { return pow(e.operand("self"), e["exponent"]); }

Term fmax(Elementwise& e) {
  const Term a = e["self"], b = e["other"];
  return select(a != a, b, select(b != b, a, maximum(a, b)));
}
Term fmin(Elementwise& e) {
  const Term a = e["self"], b = e["other"];
  return select(a != a, b, select(b != b, a, minimum(a, b)));
}
Term clamp(Elementwise& e) {
  Term x = e["self"];
  if (e.has("min")) x = maximum(x, e["min"]);
  return e.has("max") ? minimum(x, e["max"]) : x;
}
Term clamp_min(Elementwise& e) { return maximum(e["self"], e["min"]); }
Term clamp_max(Elementwise& e) { return minimum(e["self"], e["max"]); }

Term addcmul(Elementwise& e) {
  return multiply_add(e["value"] * e["tensor1"], e["tensor2"], e["self"]);
}
Term addcdiv(Elementwise& e) { return e["self"] + e["value"] * e["tensor1"] / e["tensor2"]; }
Term lerp(Elementwise& e) {
  const Term a = e["self"], b = e["end"], weight = e["weight"], way = b - a;
  return select(abs(weight) < 0.5, multiply_add(weight, way, a),
                multiply_add(way, weight - 1.0, b));
}

// beta * self + alpha * vec1 (x) vec2; vec1 stands along the rows.
Term addr(Elementwise& e) {
  const Term outer = product(e["alpha"], product(e.row("vec1"), e["vec2"]));
  return e.known("beta") == 0.0 ? outer : sum(product(e["beta"], e["self"]), outer);
}
// A power of ten is rounded to the dtype.
Term round_decimals(Elementwise& e) {
  const Term x = e["self"];
  if (!is_floating(e.common())) return e.refuse();
  const double decimals = e.real("decimals"), power = std::pow(10, std::fabs(decimals));
  return decimals < 0 ? round(x / power) * power : round(x * power) / power;
}
// other may be of another dtype than the result.
Term ldexp(Elementwise& e) {
  const Term n = e.raw("other");
  if (!n) return n;
  // The power is rounded to its own dtype first.
  if (is_floating(n.dtype()) && e.forbids({.cpu = "bhfd", .cuda = "bhfd"})) return e.refuse();
  const DType dtype = is_floating(n.dtype()) ? compute_dtype(n.dtype()) : DType::kFloat32;
  return e["self"] * cast(compute_dtype(e.common()), exp2(cast(dtype, n)));
}

// The least common multiple is 0 where both are. Small integers are multiplied as C++ does, in
// int32.
Term lcm(Elementwise& e) {
  const Term a = e["self"], b = e["other"];
  if (!is_integral(e.common()) || e.common() == DType::kBool) return e.refuse();
  const DType wide = size_in_bytes(e.common()) < 4 ? DType::kInt32 : e.common();
  const Term product = cast(wide, trunc_div(a, gcd(a, b))) * cast(wide, b);
  return cast(e.common(), abs(product));
}
// Two outputs: the fraction, and the exponent as int32.
Verdict frexp(Builder& b, const Node& node) {
  if (Verdict plain = is_plain(node); !plain) return plain;
  const TensorRef self = b.ref(node, "self");
  if (!is_floating(b.dtype(self))) return Verdict::no("parts of an integer");
  const auto store = [&](int output, const auto& part) {
    const Nest nest = b.nest(node.outputs[output]->sizes);
    const Term x = cast(compute_dtype(b.dtype(self)), {&b.pool(), b.load(self, nest.vars)});
    b.store(node.output(output), nest, part(x).expr);
  };
  store(0, [](const Term& x) { return fraction(x); });
  store(1, [](const Term& x) { return exponent(x); });
  return Verdict::yes();
}

// ---- Tests and choice ----

Term is_nan(Elementwise& e) { return e["self"] != e["self"]; }
Term is_inf(Elementwise& e) {
  if (!is_floating(e.common())) return truth(number(e["self"], 0));
  return abs(e["self"]) == std::numeric_limits<double>::infinity();
}
template <bool negative>
Term is_infinity(Elementwise& e) {
  if (!is_floating(e.common())) return truth(number(e["self"], 0));
  return e["self"] == (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
}
Term sign_bit(Elementwise& e) {
  const Term x = e["self"];
  if (x.dtype() == DType::kBool) return number(x, 0);
  return is_floating(x.dtype()) ? copysign(number(x, 1), x) < 0.0 : x < 0.0;
}
double most(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}
Term nan_to_num(Elementwise& e) {
  const Term x = e["self"];
  if (!is_floating(e.common())) return x;
  const double infinity = std::numeric_limits<double>::infinity();
  const Term nan = e.has("nan") ? e["nan"] : e.number(0);
  const Term high = e.has("posinf") ? e["posinf"] : e.number(most(e.common()));
  const Term low = e.has("neginf") ? e["neginf"] : e.number(-most(e.common()));
  return select(x != x, nan, select(x == infinity, high, select(x == -infinity, low, x)));
}
Term logical_not(Elementwise& e) { return bit_not(truth(e.raw("self"))); }
Term where(Elementwise& e) { return select(truth(e.raw("condition")), e["self"], e["other"]); }
Term masked_fill(Elementwise& e) { return select(truth(e.raw("mask")), e["value"], e["self"]); }

constexpr LoweringRow kRows[] = {
    {"aten::add.Tensor", kPointwise, pointwise<kToResult, add>},
    {"aten::add.Scalar", kPointwise, pointwise<kToResult, add>},
    {"aten::sub.Tensor", kPointwise, pointwise<kToResult, sub>},
    {"aten::sub.Scalar", kPointwise, pointwise<kToResult, sub>},
    {"aten::rsub.Tensor", kPointwise, pointwise<kToResult, rsub>},
    {"aten::rsub.Scalar", kPointwise, pointwise<kToResult, rsub>},
    {"aten::mul.Tensor", kPointwise, pointwise<kToResult, mul>},
    {"aten::mul.Scalar", kPointwise, pointwise<kToResult, mul>},
    {"aten::div.Tensor", kPointwise, pointwise<kToResult, quotient>},
    {"aten::div.Scalar", kPointwise, pointwise<kToResult, quotient>},
    {"aten::div.Tensor_mode", kPointwise, pointwise<kToResult, divide>},
    {"aten::div.Scalar_mode", kPointwise, pointwise<kToResult, divide>},
    {"aten::floor_divide", kPointwise, pointwise<kToResult, floor_divide>},
    {"aten::floor_divide.Scalar", kPointwise, pointwise<kToResult, floor_divide>},
    {"aten::remainder.Tensor", kPointwise, pointwise<kToResult, checked<ScalarOp::remainder>>},
    {"aten::remainder.Scalar", kPointwise, pointwise<kToResult, checked<ScalarOp::remainder>>},
    {"aten::fmod.Tensor", kPointwise, pointwise<kToResult, checked<ScalarOp::fmod>>},
    {"aten::fmod.Scalar", kPointwise, pointwise<kToResult, checked<ScalarOp::fmod>>},
    {"aten::neg", kPointwise, pointwise<kToResult, unary<ScalarOp::neg>>},
    {"aten::abs", kPointwise, pointwise<kToResult, unary<ScalarOp::abs>>},
    {"aten::sign", kPointwise, pointwise<kToResult, sign>},
    {"aten::sgn", kPointwise, pointwise<kToResult, sign>},
    {"aten::heaviside", kPointwise, pointwise<kToResult, heaviside>},
    {"aten::rad2deg", kPointwise, pointwise<kToResult, degrees>},
    {"aten::deg2rad", kPointwise, pointwise<kToResult, radians>},
    {"aten::angle", kPointwise, pointwise<kToResult, angle>},
    {"aten::reciprocal", kPointwise, pointwise<kToResult, reciprocal>},
    {"aten::pow.Tensor_Scalar", kPointwise, pointwise<kToResult, pow_by_number>},
    {"aten::pow.Tensor_Tensor", kPointwise, pointwise<kToResult, pow_by_tensor>},
    {"aten::pow.Scalar", kPointwise, pointwise<kToResult, pow_by_tensor>},
    {"aten::maximum", kPointwise, pointwise<kToResult, binary<ScalarOp::maximum>>, {.cpu = "bhfd"}},
    {"aten::minimum", kPointwise, pointwise<kToResult, binary<ScalarOp::minimum>>, {.cpu = "bhfd"}},
    {"aten::fmax", kPointwise, pointwise<kToResult, fmax>, {.cpu = "bhfd"}},
    {"aten::fmin", kPointwise, pointwise<kToResult, fmin>, {.cpu = "bhfd"}},
    {"aten::clamp", kPointwise, pointwise<kToResult, clamp>},
    {"aten::clamp.Tensor", kPointwise, pointwise<kToResult, clamp>, {.cpu = "bhfd"}},
    {"aten::clamp_min", kPointwise, pointwise<kToResult, clamp_min>},
    {"aten::clamp_min.Tensor", kPointwise, pointwise<kToResult, clamp_min>, {.cpu = "bhfd"}},
    {"aten::clamp_max", kPointwise, pointwise<kToResult, clamp_max>},
    {"aten::clamp_max.Tensor", kPointwise, pointwise<kToResult, clamp_max>, {.cpu = "bhfd"}},
    {"aten::atan2", kPointwise, pointwise<kToResult, binary<ScalarOp::atan2>>},
    {"aten::hypot", kPointwise, pointwise<kToResult, binary<ScalarOp::hypot>>},
    {"aten::copysign.Tensor", kPointwise, pointwise<kToResult, binary<ScalarOp::copysign>>},
    {"aten::copysign.Scalar", kPointwise, pointwise<kToResult, binary<ScalarOp::copysign>>},
    {"aten::addcmul", kPointwise, pointwise<kToResult, addcmul>, {.cuda = "bhfd"}},
    {"aten::addcdiv", kPointwise, pointwise<kToResult, addcdiv>, {.cuda = "bhfd"}},
    {"aten::lerp.Scalar", kPointwise, pointwise<kToResult, lerp>, {.cpu = "bh"}},
    {"aten::lerp.Tensor", kPointwise, pointwise<kToResult, lerp>, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::gcd", kPointwise, pointwise<kToResult, binary<ScalarOp::gcd>>},
    {"aten::lcm", kPointwise, pointwise<kToResult, lcm>},
    {"aten::nextafter", kPointwise, pointwise<kToResult, binary<ScalarOp::nextafter>>},
    {"aten::frexp.Tensor", kPointwise, frexp},
    {"aten::addr", kPointwise, pointwise<kToResult, addr>, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::ldexp.Tensor", kPointwise, pointwise<kToResult, ldexp>},

    {"aten::floor", kPointwise, pointwise<kToResult, rounding<ScalarOp::floor>>},
    {"aten::ceil", kPointwise, pointwise<kToResult, rounding<ScalarOp::ceil>>},
    {"aten::round", kPointwise, pointwise<kToResult, rounding<ScalarOp::round>>},
    {"aten::round.decimals", kPointwise, pointwise<kToResult, round_decimals>, {.cuda = "bh"}},
    {"aten::trunc", kPointwise, pointwise<kToResult, rounding<ScalarOp::trunc>>},
    {"aten::frac", kPointwise, pointwise<kToResult, frac>},
    {"aten::sqrt", kPointwise, pointwise<kToResult, unary<ScalarOp::sqrt>>},
    {"aten::rsqrt", kPointwise, pointwise<kToResult, unary<ScalarOp::rsqrt>>},
    {"aten::exp", kPointwise, pointwise<kToResult, unary<ScalarOp::exp>>},
    {"aten::exp2", kPointwise, pointwise<kToResult, unary<ScalarOp::exp2>>},
    {"aten::expm1", kPointwise, pointwise<kToResult, unary<ScalarOp::expm1>>},
    {"aten::log", kPointwise, pointwise<kToResult, unary<ScalarOp::log>>},
    {"aten::log2", kPointwise, pointwise<kToResult, unary<ScalarOp::log2>>},
    {"aten::log10", kPointwise, pointwise<kToResult, unary<ScalarOp::log10>>},
    {"aten::log1p", kPointwise, pointwise<kToResult, unary<ScalarOp::log1p>>},
    {"aten::sin", kPointwise, pointwise<kToResult, unary<ScalarOp::sin>>},
    {"aten::cos", kPointwise, pointwise<kToResult, unary<ScalarOp::cos>>},
    {"aten::tan", kPointwise, pointwise<kToResult, unary<ScalarOp::tan>>},
    {"aten::asin", kPointwise, pointwise<kToResult, unary<ScalarOp::asin>>},
    {"aten::acos", kPointwise, pointwise<kToResult, unary<ScalarOp::acos>>},
    {"aten::atan", kPointwise, pointwise<kToResult, unary<ScalarOp::atan>>},
    {"aten::sinh", kPointwise, pointwise<kToResult, unary<ScalarOp::sinh>>},
    {"aten::cosh", kPointwise, pointwise<kToResult, unary<ScalarOp::cosh>>},
    {"aten::tanh", kPointwise, pointwise<kToResult, unary<ScalarOp::tanh>>},
    {"aten::asinh", kPointwise, pointwise<kToResult, unary<ScalarOp::asinh>>},
    {"aten::acosh", kPointwise, pointwise<kToResult, unary<ScalarOp::acosh>>},
    {"aten::atanh", kPointwise, pointwise<kToResult, unary<ScalarOp::atanh>>},
    {"aten::erf", kPointwise, pointwise<kToResult, unary<ScalarOp::erf>>},
    {"aten::erfc", kPointwise, pointwise<kToResult, unary<ScalarOp::erfc>>},
    {"aten::erfinv", kPointwise, pointwise<kToResult, unary<ScalarOp::erfinv>>},
    {"aten::lgamma", kPointwise, pointwise<kToResult, unary<ScalarOp::lgamma>>},

    {"aten::eq.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::eq>>},
    {"aten::eq.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::eq>>},
    {"aten::ne.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::ne>>},
    {"aten::ne.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::ne>>},
    {"aten::lt.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::lt>>},
    {"aten::lt.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::lt>>},
    {"aten::le.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::le>>},
    {"aten::le.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::le>>},
    {"aten::gt.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::gt>>},
    {"aten::gt.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::gt>>},
    {"aten::ge.Tensor", kPointwise, pointwise<kOperands, binary<ScalarOp::ge>>},
    {"aten::ge.Scalar", kPointwise, pointwise<kOperands, binary<ScalarOp::ge>>},
    {"aten::isnan", kPointwise, pointwise<kOperands, is_nan>},
    {"aten::isinf", kPointwise, pointwise<kOperands, is_inf>},
    {"aten::isposinf", kPointwise, pointwise<kOperands, is_infinity<false>>},
    {"aten::isneginf", kPointwise, pointwise<kOperands, is_infinity<true>>},
    {"aten::signbit", kPointwise, pointwise<kOperands, sign_bit>},
    {"aten::nan_to_num", kPointwise, pointwise<kToResult, nan_to_num>},

    {"aten::logical_and", kPointwise, pointwise<kToResult, logical<ScalarOp::bit_and>>},
    {"aten::logical_or", kPointwise, pointwise<kToResult, logical<ScalarOp::bit_or>>},
    {"aten::logical_xor", kPointwise, pointwise<kToResult, logical<ScalarOp::bit_xor>>},
    {"aten::logical_not", kPointwise, pointwise<kToResult, logical_not>},
    {"aten::bitwise_and.Tensor", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_and>>},
    {"aten::bitwise_and.Scalar", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_and>>},
    {"aten::bitwise_or.Tensor", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_or>>},
    {"aten::bitwise_or.Scalar", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_or>>},
    {"aten::bitwise_xor.Tensor", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_xor>>},
    {"aten::bitwise_xor.Scalar", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_xor>>},
    {"aten::bitwise_and.Scalar_Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::bit_and>>},
    {"aten::bitwise_or.Scalar_Tensor", kPointwise, pointwise<kToResult, binary<ScalarOp::bit_or>>},
    {"aten::bitwise_xor.Scalar_Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::bit_xor>>},
    {"aten::bitwise_not", kPointwise, pointwise<kToResult, unary<ScalarOp::bit_not>>},
    {"aten::bitwise_left_shift.Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_left>>},
    {"aten::bitwise_left_shift.Tensor_Scalar", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_left>>},
    {"aten::bitwise_left_shift.Scalar_Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_left>>},
    {"aten::bitwise_right_shift.Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_right>>},
    {"aten::bitwise_right_shift.Tensor_Scalar", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_right>>},
    {"aten::bitwise_right_shift.Scalar_Tensor", kPointwise,
     pointwise<kToResult, binary<ScalarOp::shift_right>>},

    {"aten::where.self", kPointwise, pointwise<kToResult, where>},
    {"aten::masked_fill.Scalar", kPointwise, pointwise<kToResult, masked_fill>},
    {"aten::masked_fill.Tensor", kPointwise, pointwise<kToResult, masked_fill>},
};

}  // namespace

LoweringRows pointwise_rows() { return kRows; }

}  // namespace inductor
