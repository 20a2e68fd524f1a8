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

constexpr LoweringRow kRows[] = {
    {"aten::logaddexp", kPointwise, pointwise<kToResult, logaddexp>},
    {"aten::logaddexp2", kPointwise, pointwise<kToResult, logaddexp2>},
    {"aten::xlogy.Tensor", kPointwise, pointwise<kToResult, xlogy>},
    {"aten::xlogy.Scalar_Self", kPointwise, pointwise<kToResult, xlogy>},
    {"aten::xlogy.Scalar_Other", kPointwise, pointwise<kToResult, xlogy>},
    {"aten::special_xlog1py", kPointwise, pointwise<kToResult, xlog1py>},
    {"aten::special_xlog1py.self_scalar", kPointwise, pointwise<kToResult, xlog1py>},
    {"aten::special_xlog1py.other_scalar", kPointwise, pointwise<kToResult, xlog1py>},
    {"aten::special_entr", kPointwise, pointwise<kToResult, entropy>},
    {"aten::sinc", kPointwise, pointwise<kToResult, sinc>},
    {"aten::logit", kPointwise, pointwise<kToResult, logit>},
    {"aten::logit_backward", kPointwise, pointwise<kToResult, logit_backward>},
    {"aten::mvlgamma", kPointwise, pointwise<kToResult, mvlgamma>},
};

}  // namespace

LoweringRows special_rows() { return kRows; }

}  // namespace inductor
