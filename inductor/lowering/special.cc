// Special functions: logarithms of small things, entropy, gamma and error functions. Each formula
// is ATen's own.
#include <cmath>
#include <limits>

#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kToResult = Promote::kToResult;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Term logaddexp(Elementwise& e) {
  const Term a = e["self"], b = e["other"], most = maximum(a, b);
  return select(bit_and(abs(a) == kInfinity, a == b), a, most + log1p(exp(-abs(a - b))));
}
Term logaddexp2(Elementwise& e) {
  const Term a = e["self"], b = e["other"], most = maximum(a, b);
  return select(bit_and(abs(a) == kInfinity, a == b), a, most + log1p(exp2(-abs(a - b))) * M_LOG2E);
}
Term zero_times(const Term& x, const Term& y, const Term& log) {
  return select(y != y, y, select(x == 0.0, number(x, 0), x * log));
}
Term xlogy(Elementwise& e) { return zero_times(e["self"], e["other"], log(e["other"])); }
Term xlog1py(Elementwise& e) { return zero_times(e["self"], e["other"], log1p(e["other"])); }

Term entropy(Elementwise& e) {
  const Term x = e["self"];
  const Term inside = select(x == 0.0, number(x, 0), number(x, -kInfinity));
  return select(x != x, x, select(x > 0.0, -x * log(x), inside));
}
Term sinc(Elementwise& e) {
  const Term x = e["self"], angle = x * M_PI;
  return select(x == 0.0, number(x, 1), sin(angle) / angle);
}

Term logit(Elementwise& e) {
  Term x = e["self"];
  if (e.has("eps")) {
    const double eps = e.real("eps");
    x = select(x < eps, number(x, eps), select(x > 1 - eps, number(x, 1 - eps), x));
  }
  return log(x / (1.0 - x));
}
Term logit_backward(Elementwise& e) {
  const Term x = e["self"], dy = e["grad_output"];
  const double eps = e.has("eps") ? e.real("eps") : 0;
  const Term outside = number(x, e.has("eps") ? 0 : kNan);
  const Term inside = select(bit_or(x == 0.0, x == 1.0), dy * kInfinity, dy / (x * (1.0 - x)));
  return select(bit_or(x<eps, x> 1 - eps), outside, inside);
}

// The logarithm of the multivariate gamma function of dimension p.
Term mvlgamma(Elementwise& e) {
  const double p = e.real("p");
  const Term x = e["self"];
  Term sum = number(x, p * (p - 1) / 4 * std::log(M_PI));
  for (int i = 0; i < p; ++i) sum = sum + lgamma(x - 0.5 * i);
  return sum;
}

template <ScalarOp op>
Term unary(Elementwise& e) {
  return apply(op, {e["self"]});
}
// ATen has no kernels for these on half types and raises.
bool is_half(Elementwise& e) { return e.common() != compute_dtype(e.common()); }
template <ScalarOp op>
Term wide(Elementwise& e) {
  return is_half(e) ? e.refuse() : apply(op, {e["self"]});
}
template <ScalarOp op>
Term wide_x(Elementwise& e) {
  return is_half(e) ? e.refuse() : apply(op, {e["x"]});
}

// ---- Gamma and error functions ----

// On the CPU ATen sums its terms in float64.
Term zeta_of(Elementwise& e, const Term& x, const Term& q) {
  if (e.on_cuda()) return zeta(x, q);
  return cast(x.dtype(), zeta(cast(DType::kFloat64, x), cast(DType::kFloat64, q)));
}

// psi's derivative of order n: (-1)^(n + 1) n! zeta(n + 1, x).
Term polygamma(Elementwise& e) {
  const Term x = e["self"];
  const double n = e.real("n");
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const double factorial = std::exp(std::lgamma(n + 1));
  return zeta_of(e, number(x, n + 1), x) * (std::fmod(n, 2) == 1 ? factorial : -factorial);
}
Term hurwitz_zeta(Elementwise& e) {
  return is_half(e) ? e.refuse() : zeta_of(e, e["self"], e["other"]);
}
Term log_ndtr(Elementwise& e) {
  if (is_half(e)) return e.refuse();
  const Term x = e["self"], t = x * M_SQRT1_2;
  return select(x < -1.0, log(erfcx(-t) / 2.0) - t * t, log1p(-erfc(t) / 2.0));
}

// ---- Orthogonal polynomials ----

template <ScalarOp op>
Term polynomial(Elementwise& e) {
  return is_half(e) ? e.refuse() : apply(op, {e["x"], e["n"]});
}
template <ScalarOp op>
Term shifted(Elementwise& e) {
  const Term x = e["x"];
  return is_half(e) ? e.refuse() : apply(op, {x + x - 1.0, e["n"]});
}

constexpr LoweringRow kRows[] = {
    {"aten::logaddexp", kPointwise, pointwise<kToResult, logaddexp>, {.cpu = "bh", .cuda = "bh"}},
    {"aten::logaddexp2",
     kPointwise,
     pointwise<kToResult, logaddexp2>,
     {.cpu = "bh", .cuda = "bhfd"}},
    {"aten::xlogy.Tensor", kPointwise, pointwise<kToResult, xlogy>, {.cpu = "bh", .cuda = "bh"}},
    {"aten::xlogy.Scalar_Self",
     kPointwise,
     pointwise<kToResult, xlogy>,
     {.cpu = "bh", .cuda = "bh"}},
    {"aten::xlogy.Scalar_Other",
     kPointwise,
     pointwise<kToResult, xlogy>,
     {.cpu = "bh", .cuda = "bh"}},
    {"aten::special_xlog1py",
     kPointwise,
     pointwise<kToResult, xlog1py>,
     {.cpu = "bh", .cuda = "bhf"}},
    {"aten::special_xlog1py.self_scalar",
     kPointwise,
     pointwise<kToResult, xlog1py>,
     {.cpu = "bh", .cuda = "bhf"}},
    {"aten::special_xlog1py.other_scalar",
     kPointwise,
     pointwise<kToResult, xlog1py>,
     {.cpu = "bh", .cuda = "bhf"}},
    {"aten::special_entr", kPointwise, pointwise<kToResult, entropy>, {.cpu = "bh", .cuda = "bh"}},
    {"aten::sinc", kPointwise, pointwise<kToResult, sinc>},
    {"aten::logit", kPointwise, pointwise<kToResult, logit>, {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::logit_backward",
     kPointwise,
     pointwise<kToResult, logit_backward>,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::mvlgamma", kPointwise, pointwise<kToResult, mvlgamma>, {.cpu = "bh", .cuda = "bhd"}},
    {"aten::digamma", kPointwise, pointwise<kToResult, unary<ScalarOp::digamma>>},
    {"aten::polygamma", kPointwise, pointwise<kToResult, polygamma>},
    {"aten::special_zeta", kPointwise, pointwise<kToResult, hurwitz_zeta>},
    {"aten::special_zeta.self_scalar", kPointwise, pointwise<kToResult, hurwitz_zeta>},
    {"aten::special_zeta.other_scalar", kPointwise, pointwise<kToResult, hurwitz_zeta>},
    {"aten::special_ndtri", kPointwise, pointwise<kToResult, wide<ScalarOp::ndtri>>},
    {"aten::special_erfcx", kPointwise, pointwise<kToResult, wide<ScalarOp::erfcx>>},
    {"aten::special_log_ndtr", kPointwise, pointwise<kToResult, log_ndtr>},
    {"aten::i0", kPointwise, pointwise<kToResult, unary<ScalarOp::bessel_i0>>},
    {"aten::special_i0e", kPointwise, pointwise<kToResult, unary<ScalarOp::bessel_i0e>>},
    {"aten::special_i1", kPointwise, pointwise<kToResult, unary<ScalarOp::bessel_i1>>},
    {"aten::special_i1e", kPointwise, pointwise<kToResult, unary<ScalarOp::bessel_i1e>>},
    {"aten::special_bessel_j0", kPointwise, pointwise<kToResult, wide<ScalarOp::bessel_j0>>},
    {"aten::special_bessel_j1", kPointwise, pointwise<kToResult, wide<ScalarOp::bessel_j1>>},
    {"aten::special_bessel_y0", kPointwise, pointwise<kToResult, wide<ScalarOp::bessel_y0>>},
    {"aten::special_bessel_y1", kPointwise, pointwise<kToResult, wide<ScalarOp::bessel_y1>>},
    {"aten::special_modified_bessel_i0", kPointwise,
     pointwise<kToResult, wide<ScalarOp::bessel_i0>>},
    {"aten::special_modified_bessel_i1", kPointwise,
     pointwise<kToResult, wide<ScalarOp::bessel_i1>>},
    {"aten::special_modified_bessel_k0", kPointwise,
     pointwise<kToResult, wide<ScalarOp::bessel_k0>>},
    {"aten::special_modified_bessel_k1", kPointwise,
     pointwise<kToResult, wide<ScalarOp::bessel_k1>>},
    {"aten::special_scaled_modified_bessel_k0", kPointwise,
     pointwise<kToResult, wide_x<ScalarOp::bessel_k0e>>},
    {"aten::special_scaled_modified_bessel_k1", kPointwise,
     pointwise<kToResult, wide_x<ScalarOp::bessel_k1e>>},
    {"aten::special_spherical_bessel_j0", kPointwise,
     pointwise<kToResult, wide_x<ScalarOp::spherical_j0>>},
    {"aten::special_airy_ai", kPointwise, pointwise<kToResult, wide_x<ScalarOp::airy_ai>>},
    {"aten::special_chebyshev_polynomial_t", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::chebyshev_t>>},
    {"aten::special_chebyshev_polynomial_u", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::chebyshev_u>>},
    {"aten::special_chebyshev_polynomial_v", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::chebyshev_v>>},
    {"aten::special_chebyshev_polynomial_w", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::chebyshev_w>>},
    {"aten::special_shifted_chebyshev_polynomial_t", kPointwise,
     pointwise<kToResult, shifted<ScalarOp::chebyshev_t>>},
    {"aten::special_shifted_chebyshev_polynomial_u", kPointwise,
     pointwise<kToResult, shifted<ScalarOp::chebyshev_u>>},
    {"aten::special_shifted_chebyshev_polynomial_v", kPointwise,
     pointwise<kToResult, shifted<ScalarOp::chebyshev_v>>},
    {"aten::special_shifted_chebyshev_polynomial_w", kPointwise,
     pointwise<kToResult, shifted<ScalarOp::chebyshev_w>>},
    {"aten::special_hermite_polynomial_h", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::hermite_h>>},
    {"aten::special_hermite_polynomial_he", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::hermite_he>>},
    {"aten::special_laguerre_polynomial_l", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::laguerre>>},
    {"aten::special_legendre_polynomial_p", kPointwise,
     pointwise<kToResult, polynomial<ScalarOp::legendre>>},
};

}  // namespace

LoweringRows special_rows() { return kRows; }

}  // namespace inductor
