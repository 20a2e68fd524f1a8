// Activations, their backward and dropout's: each one formula, ATen's own.
#include <cmath>

#include "inductor/lowering/elementwise.h"

namespace inductor {
namespace {

constexpr auto kPointwise = OpKind::kPointwise;
constexpr auto kToResult = Promote::kToResult;

Term sigmoid_of(const Term& x) { return 1.0 / (1.0 + exp(-x)); }
Term zero(const Term& x) { return number(x, 0); }
Term clamped(const Term& x, double low, double high) {
  return minimum(maximum(x, number(x, low)), number(x, high));
}

// Eager keeps -0 on a CPU, which a maximum with 0 does not, and never on CUDA.
Term relu(Elementwise& e) {
  const Term x = e["self"];
  if (e.forbids({.cpu = "bhfd"})) return select(x < 0.0, zero(x), x);
  return e.forbids({.cuda = "bhfd"}) ? select(x <= 0.0, zero(x), x) : maximum(x, e.number(0));
}
Term threshold(Elementwise& e) {
  return select(e["self"] <= e["threshold"], e["value"], e["self"]);
}
Term threshold_backward(Elementwise& e) {
  return select(e["self"] <= e["threshold"], e.number(0), e["grad_output"]);
}

Term leaky_relu(Elementwise& e) {
  const Term x = e["self"];
  return select(x > 0.0, x, x * e["negative_slope"]);
}
Term leaky_relu_backward(Elementwise& e) {
  const Term dy = e["grad_output"];
  return select(e["self"] > 0.0, dy, dy * e["negative_slope"]);
}

Term elu(Elementwise& e) {
  const Term x = e["self"];
  const double scale = e.real("scale");
  const Term below = expm1(x * e["input_scale"]) * (e.real("alpha") * scale);
  return select(x < 0.0, below, x * scale);
}
Term celu(Elementwise& e) {
  const Term x = e["self"];
  const double alpha = e.real("alpha");
  return select(x < 0.0, expm1(x * (1 / alpha)) * alpha, x);
}
Term elu_backward(Elementwise& e) {
  const Term dy = e["grad_output"], x = e["self_or_result"], slope = e["input_scale"];
  const double scale = e.real("scale"), negative = e.real("alpha") * scale;
  const Term below =
      e.flag("is_result") ? dy * slope * (x + negative) : dy * slope * negative * exp(x * slope);
  return select(x <= 0.0, below, dy * scale);
}

Term hardtanh(Elementwise& e) { return minimum(maximum(e["self"], e["min_val"]), e["max_val"]); }
Term hardtanh_backward(Elementwise& e) {
  const Term x = e["self"], dy = e["grad_output"];
  return select(bit_or(x <= e["min_val"], x >= e["max_val"]), zero(dy), dy);
}
// Kernels of a GPU, and backward's of a CPU too, multiply by a sixth in float, in float64 as well.
constexpr double kSixth = 1.0f / 6.0f;
Term sixth_of(Elementwise& e, const Term& x) { return e.on_cuda() ? x * kSixth : x / 6.0; }
Term hardsigmoid(Elementwise& e) { return sixth_of(e, clamped(e["self"] + 3.0, 0, 6)); }
Term hardsigmoid_backward(Elementwise& e) {
  const Term x = e["self"], dy = e["grad_output"];
  return select(bit_and(x > -3.0, x < 3.0), dy * kSixth, zero(dy));
}
Term hardswish(Elementwise& e) { return sixth_of(e, e["self"] * clamped(e["self"] + 3.0, 0, 6)); }
Term hardswish_backward(Elementwise& e) {
  const Term x = e["self"], dy = e["grad_output"];
  const Term inside = select(x <= 3.0, dy * (x / 3.0 + 0.5), dy);
  return select(x < -3.0, zero(dy), inside);
}

Term sigmoid(Elementwise& e) { return sigmoid_of(e["self"]); }
Term sigmoid_backward(Elementwise& e) {
  const Term y = e["output"];
  return e["grad_output"] * (1.0 - y) * y;
}
Term tanh_backward(Elementwise& e) {
  const Term y = e["output"];
  return e["grad_output"] * multiply_add(-y, y, number(y, 1));
}
Term silu(Elementwise& e) { return e["self"] / (1.0 + exp(-e["self"])); }
Term silu_backward(Elementwise& e) {
  const Term x = e["self"], s = sigmoid_of(x);
  return e["grad_output"] * s * multiply_add(x, 1.0 - s, number(x, 1));
}
Term mish(Elementwise& e) { return e["self"] * tanh(log1p(exp(e["self"]))); }
Term mish_backward(Elementwise& e) {
  const Term x = e["self"], t = tanh(log1p(exp(x)));
  return e["grad_output"] * (t + x * sigmoid_of(x) * (1.0 - t * t));
}

Term softplus(Elementwise& e) {
  const Term x = e["self"], scaled = x * e["beta"];
  return select(scaled > e["threshold"], x, log1p(exp(scaled)) / e["beta"]);
}
Term softplus_backward(Elementwise& e) {
  const Term scaled = e["self"] * e["beta"], dy = e["grad_output"], z = exp(scaled);
  return select(scaled > e["threshold"], dy, dy * z / (z + 1.0));
}

constexpr double kTanhScale = M_SQRT2 * M_2_SQRTPI * 0.5;
constexpr double kTanhCubic = 0.044715;
Term gelu(Elementwise& e) {
  const Term x = e["self"];
  if (e.text("approximate") != "tanh") return 0.5 * x * (1.0 + erf(x * M_SQRT1_2));
  return 0.5 * x * (1.0 + tanh(kTanhScale * (x + kTanhCubic * (x * x * x))));
}
Term gelu_backward(Elementwise& e) {
  const Term x = e["self"], dy = e["grad_output"];
  if (e.text("approximate") != "tanh") {
    const Term cdf = 0.5 * (1.0 + erf(x * M_SQRT1_2));
    const Term pdf = exp(x * x * -0.5) * (M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return dy * (cdf + x * pdf);
  }
  const Term t = tanh(kTanhScale * (x + kTanhCubic * (x * x * x)));
  const Term inner = kTanhScale * (1.0 + 3.0 * kTanhCubic * (x * x));
  return dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner);
}

// In training the noise is the slope that forward drew for each element.
Term rrelu_backward(Elementwise& e) {
  const Term dy = e["grad_output"];
  const double lower = e.real("lower"), upper = e.real("upper");
  if (e.flag("training") && upper - lower > 1e-6) return dy * e["noise"];
  return select(e["self"] > 0.0, dy, dy * ((lower + upper) / 2));
}

Term dropout_backward(Elementwise& e) { return e["grad_output"] * (e["mask"] * e["scale"]); }

constexpr LoweringRow kRows[] = {
    {"aten::relu", kPointwise, pointwise<kToResult, relu>},
    {"aten::threshold", kPointwise, pointwise<kToResult, threshold>},
    {"aten::threshold_backward", kPointwise, pointwise<kToResult, threshold_backward>},
    {"aten::leaky_relu", kPointwise, pointwise<kToResult, leaky_relu>},
    {"aten::leaky_relu_backward", kPointwise, pointwise<kToResult, leaky_relu_backward>},
    {"aten::elu", kPointwise, pointwise<kToResult, elu>, {.cpu = "bh"}},
    {"aten::celu", kPointwise, pointwise<kToResult, celu>, {.cpu = "bh"}},
    {"aten::elu_backward", kPointwise, pointwise<kToResult, elu_backward>, {.cpu = "bhfd"}},
    {"aten::hardtanh", kPointwise, pointwise<kToResult, hardtanh>},
    {"aten::hardtanh_backward",
     kPointwise,
     pointwise<kToResult, hardtanh_backward>,
     {.cpu = "bhfd"}},
    {"aten::hardsigmoid", kPointwise, pointwise<kToResult, hardsigmoid>},
    {"aten::hardsigmoid_backward", kPointwise, pointwise<kToResult, hardsigmoid_backward>},
    {"aten::hardswish", kPointwise, pointwise<kToResult, hardswish>},
    {"aten::hardswish_backward",
     kPointwise,
     pointwise<kToResult, hardswish_backward>,
     {.cpu = "bhfd", .cuda = "bhfd"}},
    {"aten::sigmoid", kPointwise, pointwise<kToResult, sigmoid>},
    {"aten::sigmoid_backward",
     kPointwise,
     pointwise<kToResult, sigmoid_backward>,
     {.cpu = "h", .cuda = "bh"}},
    {"aten::tanh_backward", kPointwise, pointwise<kToResult, tanh_backward>, {.cuda = "bh"}},
    {"aten::silu", kPointwise, pointwise<kToResult, silu>},
    {"aten::silu_backward", kPointwise, pointwise<kToResult, silu_backward>, {.cpu = "bh"}},
    {"aten::mish", kPointwise, pointwise<kToResult, mish>, {.cpu = "bh"}},
    {"aten::mish_backward",
     kPointwise,
     pointwise<kToResult, mish_backward>,
     {.cpu = "bh", .cuda = "bhfd"}},
    {"aten::softplus", kPointwise, pointwise<kToResult, softplus>},
    {"aten::softplus_backward", kPointwise, pointwise<kToResult, softplus_backward>},
    {"aten::gelu", kPointwise, pointwise<kToResult, gelu>, {.cpu = "bh", .cuda = "bhfd"}},
    {"aten::gelu_backward",
     kPointwise,
     pointwise<kToResult, gelu_backward>,
     {.cpu = "bh", .cuda = "bhfd"}},
    {"aten::rrelu_with_noise_backward", kPointwise, pointwise<kToResult, rrelu_backward>},
    {"aten::native_dropout_backward", kPointwise, pointwise<kToResult, dropout_backward>},
};

}  // namespace

LoweringRows activation_rows() { return kRows; }

}  // namespace inductor
