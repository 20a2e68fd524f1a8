#include "tests/inductor/lowering/aten/cases.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_cat;

// Of one operand: on floating dtypes, and where noted on integers, whose result is float32 or the
// same.
constexpr std::string_view kToFloat[] = {
    "sqrt",   "rsqrt",   "exp",        "exp2",  "expm1",        "log",     "log2",    "log10",
    "log1p",  "sin",     "cos",        "tan",   "asin",         "acos",    "atan",    "sinh",
    "cosh",   "tanh",    "asinh",      "acosh", "atanh",        "erf",     "erfc",    "erfinv",
    "lgamma", "sigmoid", "reciprocal", "sinc",  "special_entr", "deg2rad", "rad2deg", "angle"};
constexpr std::string_view kSameDtype[] = {"neg",  "abs",   "sign",  "sgn", "floor",
                                           "ceil", "round", "trunc", "relu"};
constexpr std::string_view kFloatOnly[] = {"frac", "silu", "mish", "hardswish", "hardsigmoid"};
constexpr std::string_view kComparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::string_view kBitwise[] = {"bitwise_and", "bitwise_or", "bitwise_xor"};

constexpr std::string_view kCases = R"(
x: f32[4, 6], y: f32[6] | f32[4, 6] | aten::add.Tensor(x, other=y, alpha=2)
x: i64[4, 6], y: f32[] | f32[4, 6] | aten::add.Tensor(x, other=y, alpha=1)
x: bf16[4, 6], y: i64[6] | bf16[4, 6] | aten::add.Tensor(x, other=y, alpha=1)
x: u8[4, 6], y: i8[6] | i16[4, 6] | aten::add.Tensor(x, other=y, alpha=1)
x: bool[6], y: bool[6] | bool[6] | aten::add.Tensor(x, other=y, alpha=1)
x: f32[4, 6]{1, 4}, y: f32[4, 6]{1, 4} | f32[4, 6]{1, 4} | aten::add.Tensor(x, other=y, alpha=1)
x: f32[6] | f32[6] | aten::add.Scalar(x, other=1.5, alpha=2)
x: i64[6] | f32[6] | aten::add.Scalar(x, other=1.5, alpha=1)
x: f32[4, 1], y: f32[6] | f32[4, 6] | aten::sub.Tensor(x, other=y, alpha=3)
x: f32[6] | f32[6] | aten::sub.Scalar(x, other=1, alpha=1)
x: f32[6], y: f32[6] | f32[6] | aten::rsub.Tensor(x, other=y, alpha=2)
x: f32[6] | f32[6] | aten::rsub.Scalar(x, other=1, alpha=2)
x: f32[4, 6], y: f64[] | f32[4, 6] | aten::mul.Tensor(x, other=y)
x: bool[6], y: bool[6] | bool[6] | aten::mul.Tensor(x, other=y)
x: i8[6], y: i8[6] | i8[6] | aten::mul.Tensor(x, other=y)
x: f32[6] | f32[6] | aten::mul.Scalar(x, other=0.1)
x: bf16[6] | bf16[6] | aten::mul.Scalar(x, other=0.1)
x: f32[6], y: f32[6] | f32[6] | aten::div.Tensor(x, other=y)
x: i64[6], y: i64[6] | f32[6] | aten::div.Tensor(x, other=y)
x: i64[6] | f32[6] | aten::div.Scalar(x, other=3)
x: f32[6], y: f32[6] | f32[6] | aten::div.Tensor_mode(x, other=y, rounding_mode="floor")
x: f32[6], y: f32[6] | f32[6] | aten::div.Tensor_mode(x, other=y, rounding_mode="trunc")
x: f32[6], y: f32[6] | f32[6] | aten::div.Tensor_mode(x, other=y, rounding_mode=none)
x: i64[6] | i64[6] | aten::div.Scalar_mode(x, other=-3, rounding_mode="trunc")
x: i64[6] | i64[6] | aten::div.Scalar_mode(x, other=-3, rounding_mode="floor")
x: f32[6], y: f32[6] | f32[6] | aten::floor_divide(x, other=y)
x: f32[6] | f32[6] | aten::floor_divide.Scalar(x, other=0.75)
x: f32[6], y: f32[6] | f32[6] | aten::remainder.Tensor(x, other=y)
x: i64[6] | i64[6] | aten::remainder.Scalar(x, other=-3)
x: f32[6], y: f32[6] | f32[6] | aten::fmod.Tensor(x, other=y)
x: i64[6] | i64[6] | aten::fmod.Scalar(x, other=-3)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=0)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=1)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=2)
x: i64[6] | i64[6] | aten::pow.Tensor_Scalar(x, exponent=3)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=0.5)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=-0.5)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=-1)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=-2)
x: f32[6] | f32[6] | aten::pow.Tensor_Scalar(x, exponent=1.7)
x: f32[6], y: f32[6] | f32[6] | aten::pow.Tensor_Tensor(x, exponent=y)
x: f32[6] | f32[6] | aten::pow.Scalar(2.5, exponent=x)
x: f32[6], y: f32[6] | f32[6] | aten::maximum(x, other=y)
x: i64[6], y: i64[6] | i64[6] | aten::minimum(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::fmax(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::fmin(x, other=y)
x: f32[6] | f32[6] | aten::clamp(x, min=-0.5, max=0.75)
x: f32[6] | f32[6] | aten::clamp(x, min=none, max=0.75)
x: i64[6] | i64[6] | aten::clamp(x, min=-2, max=3)
x: f32[4, 6], y: f32[6] | f32[4, 6] | aten::clamp.Tensor(x, min=y, max=none)
x: f32[6] | f32[6] | aten::clamp_min(x, min=0.25)
x: f32[6], y: f32[6] | f32[6] | aten::clamp_min.Tensor(x, min=y)
x: f32[6] | f32[6] | aten::clamp_max(x, max=0.25)
x: f32[6], y: f32[6] | f32[6] | aten::clamp_max.Tensor(x, max=y)
x: f32[6], y: f32[6] | f32[6] | aten::atan2(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::hypot(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::copysign.Tensor(x, other=y)
x: f32[6] | f32[6] | aten::copysign.Scalar(x, other=-1.0)
x: f32[6], y: f32[6] | f32[6] | aten::logaddexp(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::xlogy.Tensor(x, other=y)
x: f32[6], y: f32[6] | f32[6] | aten::logaddexp2(x, other=y)
x: f32[6] | f32[6] | aten::xlogy.Scalar_Self(0, other=x)
x: f32[6] | f32[6] | aten::xlogy.Scalar_Other(x, other=0.5)
x: f32[6], y: f32[6] | f32[6] | aten::special_xlog1py(x, other=y)
x: f32[6] | f32[6] | aten::special_xlog1py.self_scalar(0, other=x)
x: i64[6] | f32[6] | aten::special_xlog1py.other_scalar(x, other=0.5)
x: f32[6] | f32[6] | aten::logit(x, eps=none)
x: f32[6] | f32[6] | aten::logit(x, eps=0.1)
g: f32[6], x: f32[6] | f32[6] | aten::logit_backward(grad_output=g, x, eps=none)
g: f32[6], x: f32[6] | f32[6] | aten::logit_backward(grad_output=g, x, eps=0.1)
g: f64[6], x: f64[6] | f64[6] | aten::logit_backward(grad_output=g, x, eps=0.0)
x: f32[6], y: f32[6] | f32[6] | aten::heaviside(x, values=y)
x: bool[6], y: bool[6] | bool[6] | aten::heaviside(x, values=y)
x: i64[6], y: i64[6] | i64[6] | aten::heaviside(x, values=y)
x: f32[6] | f32[6] | aten::round.decimals(x, decimals=2)
x: f64[6] | f64[6] | aten::round.decimals(x, decimals=-1)
x: f32[6], n: i64[6] | f32[6] | aten::ldexp.Tensor(x, other=n)
x: f64[6], n: f32[6] | f64[6] | aten::ldexp.Tensor(x, other=n)
x: i64[6], n: i64[6] | f32[6] | aten::ldexp.Tensor(x, other=n)
x: f32[4, 6], y: f32[4], z: f32[6] | f32[4, 6] | aten::addr(x, vec1=y, vec2=z, beta=0.5, alpha=2)
x: f32[6], y: i64[4], z: f32[6] | f32[4, 6] | aten::addr(x, vec1=y, vec2=z, beta=0, alpha=1)
x: bool[4, 6], y: bool[4], z: bool[6] | bool[4, 6] | aten::addr(x, vec1=y, vec2=z, beta=true, alpha=true)
x: i64[4, 6], y: i64[4], z: i64[6] | i64[4, 6] | aten::addr(x, vec1=y, vec2=z, beta=3, alpha=2)
x: f64[6] | f64[6] | aten::mvlgamma(x, p=3)
x: f32[6], y: f32[6], z: f32[4, 6] | f32[4, 6] | aten::addcmul(x, tensor1=y, tensor2=z, value=0.5)
x: f32[6], y: f32[6], z: f32[4, 6] | f32[4, 6] | aten::addcdiv(x, tensor1=y, tensor2=z, value=0.5)
x: f32[6], y: f32[6] | f32[6] | aten::lerp.Scalar(x, end=y, weight=0.7)
x: f32[6], y: f32[6], z: f32[6] | f32[6] | aten::lerp.Tensor(x, end=y, weight=z)
x: f32[6] | bool[6] | aten::isnan(x)
x: i64[6] | bool[6] | aten::isinf(x)
x: f32[6] | bool[6] | aten::isinf(x)
x: f32[6] | bool[6] | aten::isposinf(x)
x: i64[6] | bool[6] | aten::isposinf(x)
x: f32[6] | bool[6] | aten::isneginf(x)
x: f32[6] | bool[6] | aten::signbit(x)
x: i64[6] | bool[6] | aten::signbit(x)
x: bool[6] | bool[6] | aten::signbit(x)
x: f32[6] | f32[6] | aten::nan_to_num(x, nan=none, posinf=none, neginf=none)
x: bf16[6] | bf16[6] | aten::nan_to_num(x, nan=none, posinf=none, neginf=none)
x: f32[6] | f32[6] | aten::nan_to_num(x, nan=0.5, posinf=1.0, neginf=-1.0)
x: f32[6], y: i64[6] | bool[6] | aten::logical_and(x, other=y)
x: f32[6], y: i64[6] | bool[6] | aten::logical_or(x, other=y)
x: f32[6], y: bool[6] | bool[6] | aten::logical_xor(x, other=y)
x: f32[6] | bool[6] | aten::logical_not(x)
x: i64[6] | i64[6] | aten::bitwise_not(x)
x: bool[6] | bool[6] | aten::bitwise_not(x)
x: i64[6], ids: i64[6] | i64[6] | aten::bitwise_left_shift.Tensor(x, other=ids)
x: i64[6], ids: i64[6] | i64[6] | aten::bitwise_right_shift.Tensor(x, other=ids)
x: i64[6] | i64[6] | aten::bitwise_left_shift.Tensor_Scalar(x, other=2)
x: i64[6] | i64[6] | aten::bitwise_right_shift.Tensor_Scalar(x, other=2)
ids: i64[6] | i64[6] | aten::bitwise_left_shift.Scalar_Tensor(-5, other=ids)
ids: i64[6] | i64[6] | aten::bitwise_right_shift.Scalar_Tensor(-5, other=ids)
c: bool[4, 1], x: f32[4, 6], y: f32[6] | f32[4, 6] | aten::where.self(condition=c, x, other=y)
x: f32[4, 6], m: bool[6] | f32[4, 6] | aten::masked_fill.Scalar(x, mask=m, value=-inf)
x: f32[4, 6], m: bool[6], v: f32[] | f32[4, 6] | aten::masked_fill.Tensor(x, mask=m, value=v)
x: f32[6] | f32[6] | aten::threshold(x, threshold=0.25, value=20)
g: f32[6], x: f32[6] | f32[6] | aten::threshold_backward(grad_output=g, x, threshold=0.25)
x: f32[6] | f32[6] | aten::leaky_relu(x, negative_slope=0.1)
g: f32[6], x: f32[6] | f32[6] | aten::leaky_relu_backward(grad_output=g, x, negative_slope=0.1, self_is_result=false)
x: f32[6] | f32[6] | aten::elu(x, alpha=1.5, scale=2.0, input_scale=0.5)
g: f32[6], x: f32[6] | f32[6] | aten::elu_backward(grad_output=g, alpha=1.5, scale=2.0, input_scale=0.5, is_result=false, self_or_result=x)
g: f32[6], x: f32[6] | f32[6] | aten::elu_backward(grad_output=g, alpha=1.5, scale=2.0, input_scale=0.5, is_result=true, self_or_result=x)
x: f32[6] | f32[6] | aten::hardtanh(x, min_val=-0.5, max_val=1)
g: f32[6], x: f32[6] | f32[6] | aten::hardtanh_backward(grad_output=g, x, min_val=-0.5, max_val=1)
g: f32[6], x: f32[6] | f32[6] | aten::hardsigmoid_backward(grad_output=g, x)
g: f64[6], x: f64[6] | f64[6] | aten::hardsigmoid_backward(grad_output=g, x)
g: f32[6], x: f32[6] | f32[6] | aten::hardswish_backward(grad_output=g, x)
g: f64[6], x: f64[6] | f64[6] | aten::hardswish_backward(grad_output=g, x)
g: f32[6], x: f32[6] | f32[6] | aten::sigmoid_backward(grad_output=g, output=x)
g: f32[6], x: f32[6] | f32[6] | aten::tanh_backward(grad_output=g, output=x)
g: f32[6], x: f32[6] | f32[6] | aten::silu_backward(grad_output=g, x)
g: f32[6], x: f32[6] | f32[6] | aten::mish_backward(grad_output=g, x)
x: f32[6] | f32[6] | aten::softplus(x, beta=2, threshold=3)
g: f32[6], x: f32[6] | f32[6] | aten::softplus_backward(grad_output=g, x, beta=2, threshold=3)
x: f32[6] | f32[6] | aten::gelu(x, approximate="none")
x: f32[6] | f32[6] | aten::gelu(x, approximate="tanh")
x: bf16[6] | bf16[6] | aten::gelu(x, approximate="none")
g: f32[6], x: f32[6] | f32[6] | aten::gelu_backward(grad_output=g, x, approximate="none")
g: f32[6], x: f32[6] | f32[6] | aten::gelu_backward(grad_output=g, x, approximate="tanh")
x: f32[6] | f32[6] | aten::celu(x, alpha=1.5)
g: f32[6], x: f32[6], y: f32[6] | f32[6] | aten::rrelu_with_noise_backward(grad_output=g, x, noise=y, lower=0.1, upper=0.3, training=false, self_is_result=false)
g: f32[6], x: f32[6], y: f32[6] | f32[6] | aten::rrelu_with_noise_backward(grad_output=g, x, noise=y, lower=0.1, upper=0.3, training=true, self_is_result=false)
g: f32[6], m: bool[6] | f32[6] | aten::native_dropout_backward(grad_output=g, mask=m, scale=1.25)

x: f32[4, 6]{1, 4} | f32[4, 6]{1, 4} | aten::clone(x, memory_format=none)
x: f32[4, 6]{1, 4} | f32[4, 6] | aten::clone(x, memory_format=0)
x: f64[6] | bf16[6] | aten::_to_copy(x, dtype=bf16, layout=none, device=none, pin_memory=none, non_blocking=false, memory_format=none)
x: f32[6] | i64[6] | aten::_to_copy(x, dtype=i64, layout=none, device=none, pin_memory=none, non_blocking=false, memory_format=none)
x: f32[6] | bool[6] | aten::_to_copy(x, dtype=bool, layout=none, device=none, pin_memory=none, non_blocking=false, memory_format=none)
x: f32[6] | f32[6] | aten::lift_fresh_copy(x)
x: f32[4, 6], y: i64[6] | f32[4, 6] | aten::copy(x, src=y, non_blocking=false)
x: f32[4, 2], y: f32[4, 3], z: f32[0] | f32[4, 5] | aten::cat(tensors=[x, z, y], dim=1)
x: i64[4], y: f32[2] | f32[6] | aten::cat(tensors=[x, y], dim=0)
x: f32[4, 2], y: f32[4, 2] | f32[4, 2, 2] | aten::stack(tensors=[x, y], dim=-1)

x: f32[2] | f32[4, 3] | aten::zeros(size=[4, 3], dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[4, 3] | i64[4, 3] | aten::zeros_like(x, dtype=i64, layout=none, device=none, pin_memory=none, memory_format=none)
x: f32[2] | f32[3] | aten::new_zeros(x, size=[3], dtype=none, layout=none, device=none, pin_memory=none)
x: f32[3] | f32[3] | aten::zero(x)
x: f32[2] | f32[3] | aten::ones(size=[3], dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[3] | f32[3] | aten::ones_like(x, dtype=none, layout=none, device=none, pin_memory=none, memory_format=none)
x: f32[2] | bool[3] | aten::new_ones(x, size=[3], dtype=bool, layout=none, device=none, pin_memory=none)
x: f32[2] | f32[3] | aten::full(size=[3], fill_value=0.1, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[3] | f32[3] | aten::full_like(x, fill_value=3, dtype=none, layout=none, device=none, pin_memory=none, memory_format=none)
x: f32[2] | i64[3] | aten::new_full(x, size=[3], fill_value=3, dtype=i64, layout=none, device=none, pin_memory=none)
x: f32[3] | f32[3] | aten::fill.Scalar(x, value=2)
x: f32[3], v: f64[] | f32[3] | aten::fill.Tensor(x, value=v)
x: f32[2] | f32[] | aten::scalar_tensor(s=2.5, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | i64[5] | aten::arange(end=5, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | i64[3] | aten::arange.start(start=2, end=5, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | f32[4] | aten::arange.start_step(start=0.5, end=2.5, step=0.5, dtype=f32, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | f32[7] | aten::linspace(start=-1, end=2.5, steps=7, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | f64[1] | aten::linspace(start=-1, end=2.5, steps=1, dtype=f64, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | i64[8] | aten::linspace(start=-10, end=5, steps=8, dtype=i64, layout=none, device=@cpu, pin_memory=false)
x: f32[], y: f32[] | f32[7] | aten::linspace.Tensor_Tensor(start=x, end=y, steps=7, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[] | f32[7] | aten::linspace.Tensor_Scalar(start=x, end=3, steps=7, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[] | f32[7] | aten::linspace.Scalar_Tensor(start=2, end=x, steps=7, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | f32[7] | aten::logspace(start=-1, end=2.5, steps=7, base=10.0, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | i64[5] | aten::logspace(start=0, end=4, steps=5, base=2.0, dtype=i64, layout=none, device=@cpu, pin_memory=false)
x: f32[], y: f32[] | f32[7] | aten::logspace.Tensor_Tensor(start=x, end=y, steps=7, base=2.0, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[] | f32[7] | aten::logspace.Tensor_Scalar(start=x, end=3, steps=7, base=2.0, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[] | f32[7] | aten::logspace.Scalar_Tensor(start=2, end=x, steps=7, base=2.0, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | f32[3, 3] | aten::eye(n=3, dtype=none, layout=none, device=@cpu, pin_memory=false)
x: f32[2] | i64[3, 5] | aten::eye.m(n=3, m=5, dtype=i64, layout=none, device=@cpu, pin_memory=false)

g: f32[4, 3] | f32[4, 8] | aten::slice_backward(grad_output=g, input_sizes=[4, 8], dim=1, start=1, end=7, step=2)
g: f32[4, 3] | f32[4, 8] | aten::slice_backward(grad_output=g, input_sizes=[4, 8], dim=1, start=-3, end=9223372036854775807, step=1)
x: f32[4, 8], y: f32[4, 3] | f32[4, 8] | aten::slice_scatter(x, src=y, dim=1, start=1, end=7, step=2)
g: f32[4] | f32[4, 8] | aten::select_backward(grad_output=g, input_sizes=[4, 8], dim=1, index=-1)
x: f32[4, 8], y: f32[8] | f32[4, 8] | aten::select_scatter(x, src=y, dim=0, index=2)
x: f32[4, 3] | f32[6, 4] | aten::constant_pad_nd(x, pad=[-1, 2, 1, 1], value=0.5)
x: f32[4, 6] | f32[4, 6] | aten::tril(x, diagonal=1)
x: f32[4, 6] | f32[4, 6] | aten::triu(x, diagonal=-1)
x: bf16[4, 6] | bf16[4, 6] | aten::triu(x, diagonal=0)
x: f32[4, 6] | f32[4, 6] | aten::flip(x, dims=[0, -1])
x: f32[4, 6] | f32[2, 4, 12] | aten::repeat(x, repeats=[2, 1, 2])
x: f32[4, 6] | f32[4, 6] | aten::roll(x, shifts=[2, -7], dims=[1, 0])
x: i64[4, 6]{1, 4} | i64[4, 6] | aten::roll(x, shifts=[5], dims=[])
x: f32[4, 6] | f32[6, 4]{1, 6} | aten::rot90(x, k=1, dims=[0, 1])
x: f32[2, 4, 6] | f32[2, 6, 4]{24, 1, 6} | aten::rot90(x, k=-1, dims=[1, 2])
x: f32[4, 6] | f32[4, 6] | aten::rot90(x, k=2, dims=[0, 1])
x: f32[4, 6] | f32[4, 6] | aten::rot90(x, k=4, dims=[0, 1])
x: f32[8, 2, 3] | f32[2, 4, 6] | aten::pixel_shuffle(x, upscale_factor=2)
x: f32[2, 4, 6] | f32[8, 2, 3] | aten::pixel_unshuffle(x, downscale_factor=2)
x: f32[2, 6, 2, 2] | f32[2, 6, 2, 2] | aten::channel_shuffle(x, groups=2)
x: f32[4, 3], y: f32[4, 3] | f32[4, 3] | aten::linalg_cross(x, other=y, dim=-1)
x: i64[3, 1], y: i64[3, 4] | i64[3, 4] | aten::linalg_cross(x, other=y, dim=0)

x: f32[2, 5] | f32[2, 9] | aten::reflection_pad1d(x, padding=[3, 1])
x: f32[2, 4, 5] | f32[2, 6, 8] | aten::reflection_pad2d(x, padding=[1, 2, 0, 2])
x: f32[2, 3, 4, 5] | f32[2, 5, 6, 8] | aten::reflection_pad3d(x, padding=[1, 2, 0, 2, 1, 1])
x: f32[2, 5] | f32[2, 13] | aten::replication_pad1d(x, padding=[3, 5])
x: f32[2, 4, 5] | f32[2, 5, 8] | aten::replication_pad2d(x, padding=[1, 2, -1, 2])
x: f32[2, 3, 4, 5] | f32[2, 5, 6, 8] | aten::replication_pad3d(x, padding=[1, 2, 0, 2, 1, 1])
g: f32[2, 9], x: f32[2, 5] | f32[2, 5] | aten::reflection_pad1d_backward(grad_output=g, x, padding=[3, 1])
g: f32[2, 6, 8], x: f32[2, 4, 5] | f32[2, 4, 5] | aten::reflection_pad2d_backward(grad_output=g, x, padding=[1, 2, 0, 2])
g: f32[2, 5, 6, 8], x: f32[2, 3, 4, 5] | f32[2, 3, 4, 5] | aten::reflection_pad3d_backward(grad_output=g, x, padding=[1, 2, 0, 2, 1, 1])
x: f32[2, 3, 4, 5] | f32[2, 18, 12] | aten::im2col(x, kernel_size=[3, 2], dilation=[1, 2], padding=[1, 0], stride=[1, 1])
x: f32[2, 6, 7] | f32[8, 12] | aten::im2col(x, kernel_size=[2, 2], dilation=[1, 1], padding=[0, 1], stride=[2, 2])

x: f32[2, 4] | f32[2, 5, 5] | aten::diag_embed(x, offset=-1, dim1=-2, dim2=-1)
x: f32[2, 4] | f32[6, 2, 6] | aten::diag_embed(x, offset=2, dim1=0, dim2=-1)
g: f32[3] | f32[4, 6] | aten::diagonal_backward(grad_output=g, input_sizes=[4, 6], offset=-1, dim1=0, dim2=1)
g: f32[3, 4] | f32[4, 3, 6] | aten::diagonal_backward(grad_output=g, input_sizes=[4, 3, 6], offset=1, dim1=0, dim2=2)
x: bf16[4, 6], y: bf16[4] | bf16[4, 6] | aten::diagonal_scatter(x, src=y, offset=2, dim1=0, dim2=1)
x: f32[2, 3], y: f32[], z: i64[2] | f32[4, 6] | aten::block_diag(tensors=[x, y, z])

w: f32[3, 4], ids: i64[2, 3] | f32[2, 3, 4] | aten::embedding(weight=w, indices=ids, padding_idx=-1, scale_grad_by_freq=false, sparse=false)
w: f32[4, 3], ids: i32[5] | f32[4, 5] | aten::index_select(w, dim=1, index=ids)
w: f32[4, 3], ids: i64[2, 2] | f32[2, 2] | aten::gather(w, dim=1, index=ids, sparse_grad=false)
w: f32[3, 4], ids: i64[2, 1] | f32[2, 1, 4] | aten::index.Tensor(w, indices=[ids])
w: f32[3, 4, 3], ids: i64[2], ids2: i64[5, 1] | f32[5, 2, 4] | aten::index.Tensor(w, indices=[ids, none, ids2])
w: f32[4, 3, 3], ids: i64[2], ids2: i64[5, 1] | f32[4, 5, 2] | aten::_unsafe_index.Tensor(w, indices=[none, ids, ids2])

g: f32[2, 3, 4], ids: i64[2, 3] | f32[5, 4] | aten::embedding_dense_backward(grad_output=g, indices=ids, num_weights=5, padding_idx=1, scale_grad_by_freq=false)
x: f32[4, 3], ids: i64[4, 2], y: f32[4, 2] | f32[4, 3] | aten::scatter_add(x, dim=1, index=ids, src=y)
x: f32[4, 3], ids: i64[2], y: f32[4, 2] | f32[4, 3] | aten::index_add(x, dim=1, index=ids, source=y, alpha=1)
x: f32[3, 4], ids: i64[5], y: f32[5, 4] | f32[3, 4] | aten::index_put(x, indices=[ids], values=y, accumulate=true)
x: f32[3, 4], ids: i64[5], y: f32[] | f32[3, 4] | aten::index_put(x, indices=[ids], values=y, accumulate=true)
x: f32[4, 3], ids: i64[4, 1] | f32[4, 3] | aten::scatter.value(x, dim=1, index=ids, value=-1.5)
x: f32[4, 3], ids: i64[4, 1], y: f32[4, 2] | f32[4, 3] | aten::scatter.src(x, dim=1, index=ids, src=y)

x: f32[4, 6] | f32[] | aten::sum(x, dtype=none)
x: bool[4, 6] | i64[] | aten::sum(x, dtype=none)
x: f32[] | f32[] | aten::sum(x, dtype=none)
x: f32[2, 3, 4] | f32[2, 1, 1] | aten::sum.dim_IntList(x, dim=[1, -1], keepdim=true, dtype=none)
x: bf16[4, 6] | f32[4] | aten::sum.dim_IntList(x, dim=[1], keepdim=false, dtype=f32)
x: f32[4, 6] | f32[] | aten::mean(x, dtype=none)
x: bf16[4, 6] | bf16[6] | aten::mean.dim(x, dim=[0], keepdim=false, dtype=none)
x: f32[4, 6] | f32[] | aten::prod(x, dtype=none)
x: i64[4, 6] | i64[4] | aten::prod.dim_int(x, dim=1, keepdim=false, dtype=none)
x: f32[4, 6] | f32[4] | aten::amax(x, dim=[1], keepdim=false)
x: i64[4, 6] | i64[1, 6] | aten::amin(x, dim=[0], keepdim=true)
x: f32[4, 6] | f32[] | aten::max(x)
x: u8[4, 6] | u8[] | aten::min(x)
x: f32[4, 6] | bool[] | aten::any(x)
x: bool[4, 6] | bool[4] | aten::any.dim(x, dim=1, keepdim=false)
x: i64[4, 6] | bool[4] | aten::any.dims(x, dim=[1], keepdim=false)
x: bool[4, 6] | bool[] | aten::all(x)
x: f32[4, 6] | bool[4, 1] | aten::all.dim(x, dim=1, keepdim=true)
x: bool[4, 6] | bool[] | aten::all.dims(x, dim=none, keepdim=false)
x: u8[4, 6] | u8[] | aten::any(x)
x: u8[4, 6] | u8[4] | aten::all.dim(x, dim=1, keepdim=false)
x: f32[4, 0] | bool[4] | aten::all.dim(x, dim=1, keepdim=false)
x: f32[0, 6] | f32[0] | aten::amax(x, dim=[1], keepdim=false)
x: f32[4, 6] | f32[4] | aten::nansum(x, dim=[1], keepdim=false, dtype=none)
x: i64[4, 6] | i64[] | aten::nansum(x, dim=none, keepdim=false, dtype=none)
x: f32[4, 6] | i64[] | aten::count_nonzero(x, dim=none)
x: bool[4, 6] | i64[4] | aten::count_nonzero(x, dim=-1)
x: i64[2, 4, 6] | i64[4] | aten::count_nonzero.dim_IntList(x, dim=[0, 2])
x: f32[4, 6]{1, 4} | f32[] | aten::trace(x)
x: i64[4, 3] | i64[] | aten::trace(x)
x: f32[4, 6] | f32[] | aten::norm.Scalar(x, p=2)
x: f32[4, 6] | f32[4] | aten::norm.ScalarOpt_dim(x, p=none, dim=[1], keepdim=false)
x: f32[4, 6] | f32[1, 6] | aten::norm.ScalarOpt_dim(x, p=1, dim=[0], keepdim=true)
x: f64[4, 6] | f64[] | aten::norm.ScalarOpt_dim(x, p=3.5, dim=[], keepdim=false)
x: bf16[4, 6] | bf16[4] | aten::norm.ScalarOpt_dim(x, p=0, dim=[1], keepdim=false)
x: f32[4, 6] | f32[4] | aten::norm.ScalarOpt_dim(x, p=inf, dim=[1], keepdim=false)
x: f32[4, 6] | f32[4] | aten::norm.ScalarOpt_dim(x, p=-inf, dim=[1], keepdim=false)
x: f32[4, 1], y: f32[6] | f32[] | aten::dist(x, other=y, p=2)
x: f32[6], y: f32[4, 6] | f32[] | aten::dist(x, other=y, p=inf)
x: f32[4, 6], y: f32[6] | f32[] | aten::dist(x, other=y, p=0.5)

x: f32[4, 6] | i64[] | aten::argmax(x, dim=none, keepdim=false)
x: f32[4, 6] | i64[4] | aten::argmax(x, dim=1, keepdim=false)
x: f32[4, 6] | i64[1, 1] | aten::argmin(x, dim=none, keepdim=true)
x: i64[4, 6] | i64[1, 6] | aten::argmin(x, dim=0, keepdim=true)
x: f32[] | i64[] | aten::argmax(x, dim=0, keepdim=false)
x: u8[4, 64] | i64[4] | aten::argmax(x, dim=1, keepdim=false)
x: f32[4, 6]{1, 4} | f32[4], i64[4] | aten::max.dim(x, dim=1, keepdim=false)
x: bf16[4, 6] | bf16[4], i64[4] | aten::max.dim(x, dim=1, keepdim=false)
x: bool[4, 6] | bool[1, 6], i64[1, 6] | aten::min.dim(x, dim=0, keepdim=true)
x: u8[4, 64] | u8[4], i64[4] | aten::min.dim(x, dim=-1, keepdim=false)
x: f32[4, 6] | f32[], f32[] | aten::aminmax(x, dim=none, keepdim=false)
x: bf16[4, 6] | bf16[4], bf16[4] | aten::aminmax(x, dim=1, keepdim=false)

x: f32[4, 6] | f32[2, 12] | aten::view(x, size=[2, 12])
x: f32[4, 6] | f32[24] | aten::_unsafe_view(x, size=[24])
x: f32[4, 6] | f32[6, 4]{1, 6} | aten::_reshape_alias(x, size=[6, 4], stride=[1, 6])
x: f32[1, 6] | f32[4, 6]{0, 1} | aten::expand(x, size=[4, 6], implicit=false)
x: f32[2, 3, 4] | f32[4, 2, 3]{1, 12, 4} | aten::permute(x, dims=[2, 0, 1])
x: f32[2, 3, 4] | f32[2, 4, 3]{12, 1, 4} | aten::transpose.int(x, dim0=1, dim1=2)
x: f32[4, 6] | f32[6, 4]{1, 6} | aten::t(x)
x: f32[4, 6] | f32[4, 1, 6]{6, 6, 1} | aten::unsqueeze(x, dim=1)
x: f32[4, 1, 6] | f32[4, 6] | aten::squeeze(x)
x: f32[4, 1, 6] | f32[4, 6] | aten::squeeze.dim(x, dim=1)
x: f32[4, 1, 6] | f32[4, 6] | aten::squeeze.dims(x, dim=[1, 2])
x: f32[8] | f32[3, 4]{2, 1} | aten::unfold(x, dimension=0, size=4, step=2)
x: f32[4, 6] | f32[4, 6] | aten::alias(x)
x: f32[4, 6] | f32[4, 6] | aten::detach(x)
x: f32[4, 6] | f32[4, 6] | aten::lift_fresh(x)
x: f32[4, 6] | f32[4]{6} | aten::select.int(x, dim=1, index=-2)
x: f32[4, 6] | f32[4, 2]{6, 2} | aten::slice.Tensor(x, dim=1, start=-5, end=5, step=2)
x: f32[4, 6] | f32[4, 6] | aten::slice.Tensor(x, dim=0, start=none, end=9223372036854775807, step=1)
x: f32[4, 6] | f32[4]{7} | aten::diagonal(x, offset=2, dim1=0, dim2=1)
x: f32[4, 6] | f32[3]{7} | aten::diagonal(x, offset=-1, dim1=0, dim2=1)
x: f32[4, 6] | f32[4, 4]{6, 1}, f32[4, 2]{6, 1} | aten::split.Tensor(x, split_size=4, dim=1)
x: f32[4, 6] | f32[4, 1]{6, 1}, f32[4, 5]{6, 1} | aten::split_with_sizes(x, split_sizes=[1, 5], dim=-1)
x: f32[3, 2] | f32[2], f32[2], f32[2] | aten::unbind.int(x, dim=0)
x: f32[4, 6] | f32[4, 4]{6, 1}, f32[4, 2]{6, 1} | aten::unsafe_split.Tensor(x, split_size=4, dim=1)
x: f32[4, 6] | f32[4, 1]{6, 1}, f32[4, 5]{6, 1} | aten::unsafe_split_with_sizes(x, split_sizes=[1, 5], dim=-1)

x: f32[4, 6] | f32[4, 6] | aten::alias_copy(x)
x: i64[4, 6] | i64[4, 6] | aten::detach_copy(x)
x: f32[1, 6] | f32[2, 4, 6] | aten::expand_copy(x, size=[2, 4, -1], implicit=false)
x: f32[2, 3, 4] | f32[4, 2, 3] | aten::permute_copy(x, dims=[2, 0, 1])
x: f32[2, 3, 4] | f32[2, 4, 3] | aten::transpose_copy.int(x, dim0=1, dim1=-1)
x: f32[4, 6] | f32[6, 4] | aten::t_copy(x)
x: f32[4] | f32[4] | aten::t_copy(x)
x: f32[4, 8] | f32[4, 3, 4] | aten::unfold_copy(x, dimension=1, size=4, step=2)
x: f32[] | f32[1] | aten::unfold_copy(x, dimension=0, size=1, step=1)
x: f32[4, 6] | f32[4] | aten::select_copy.int(x, dim=1, index=-2)
x: f32[4, 6] | f32[4, 2] | aten::slice_copy.Tensor(x, dim=1, start=-5, end=5, step=2)
x: f32[4, 6] | f32[4, 2] | aten::narrow_copy(x, dim=1, start=-3, length=2)
x: f32[3, 4, 6] | f32[3, 4] | aten::diagonal_copy(x, offset=2, dim1=1, dim2=2)
x: f32[4, 6] | f32[3] | aten::diagonal_copy(x, offset=-1, dim1=0, dim2=1)
x: f32[4, 6] | f32[4, 4], f32[4, 2] | aten::split_copy.Tensor(x, split_size=4, dim=1)
x: f32[4, 6] | f32[4, 1], f32[4, 5] | aten::split_with_sizes_copy(x, split_sizes=[1, 5], dim=-1)
x: f32[3, 2] | f32[3], f32[3] | aten::unbind_copy.int(x, dim=1)
x: f32[4, 6]{1, 4} | f32[2, 2, 6] | aten::view_copy(x, size=[2, 2, 6])
x: f32[6, 4]{1, 6} | f32[3, 8] | aten::view_copy(x, size=[3, -1])
x: f32[4, 6] | f32[3, 8] | aten::view_copy(x, size=[3, -1])
x: f32[4, 6] | f32[4, 1, 6] | aten::unsqueeze_copy(x, dim=1)
x: f32[4, 1, 6]{6, 1, 1} | f32[4, 6] | aten::squeeze_copy(x)
x: f32[4, 1, 6] | f32[4, 6] | aten::squeeze_copy.dim(x, dim=1)
x: f32[1, 1, 6] | f32[1, 6] | aten::squeeze_copy.dims(x, dim=[0, 2])
)";

void add_families(std::vector<std::string>& cases) {
  for (std::string_view op : kToFloat) {
    for (std::string_view dtype : {"f32", "f64", "bf16"})
      cases.push_back(str_cat("x: ", dtype, "[6] | ", dtype, "[6] | aten::", op, "(x)"));
    cases.push_back(str_cat("x: i64[6] | f32[6] | aten::", op, "(x)"));
  }
  for (std::string_view op : kSameDtype)
    for (std::string_view dtype : {"f32", "f64", "bf16", "i64"})
      cases.push_back(str_cat("x: ", dtype, "[6] | ", dtype, "[6] | aten::", op, "(x)"));
  for (std::string_view op : kFloatOnly)
    for (std::string_view dtype : {"f32", "f64", "bf16"})
      cases.push_back(str_cat("x: ", dtype, "[6] | ", dtype, "[6] | aten::", op, "(x)"));
  for (std::string_view op : kComparisons) {
    cases.push_back(
        str_cat("x: f32[4, 6], y: f64[6] | bool[4, 6] | aten::", op, ".Tensor(x, other=y)"));
    cases.push_back(str_cat("x: i64[6] | bool[6] | aten::", op, ".Scalar(x, other=0.5)"));
    cases.push_back(str_cat("x: f32[6] | bool[6] | aten::", op, ".Scalar(x, other=1)"));
  }
  for (std::string_view op : kBitwise)
    for (std::string_view dtype : {"i64", "u8", "bool"}) {
      cases.push_back(str_cat("x: ", dtype, "[6], y: ", dtype, "[6] | ", dtype, "[6] | aten::", op,
                              ".Tensor(x, other=y)"));
      cases.push_back(str_cat("x: ", dtype, "[6] | ", dtype, "[6] | aten::", op,
                              ".Scalar(x, other=", dtype == "bool" ? "true" : "5", ")"));
      cases.push_back(str_cat("x: ", dtype, "[6] | ", dtype, "[6] | aten::", op, ".Scalar_Tensor(",
                              dtype == "bool" ? "true" : "5", ", other=x)"));
    }
}

}  // namespace

std::vector<std::string> lowering_cases() {
  std::vector<std::string> cases;
  for (absl::string_view line :
       absl::StrSplit(aten_bridge::to_absl(kCases), '\n', absl::SkipEmpty()))
    cases.emplace_back(line);
  add_families(cases);
  for (std::string& one_case : window_cases()) cases.push_back(std::move(one_case));
  return cases;
}

aten_bridge::Graph graph_of(const std::string& one_case) {
  const std::vector<std::string> parts = absl::StrSplit(one_case, " | ");
  TD_CHECK(parts.size() == 3, "a case has three parts: ", one_case);
  // "f32[4], f32[2]" to "%0: f32[4], %1: f32[2]": a type begins where a word follows a comma.
  std::string results, names;
  int count = 0;
  size_t at = 0;
  const auto ends_type = [&](size_t i) {
    return parts[1][i] == ',' && (parts[1][i - 1] == ']' || parts[1][i - 1] == '}');
  };
  for (size_t i = 0; i <= parts[1].size(); ++i) {
    if (i < parts[1].size() && !ends_type(i)) continue;
    const std::string type = parts[1].substr(at, i - at);
    aten_bridge::str_append(&results, count ? ", " : "", "%", count, ": ", type);
    aten_bridge::str_append(&names, count ? ", " : "", "%", count);
    ++count;
    at = i + 2;
  }
  auto graph = aten_bridge::parse_graph(str_cat("graph 1 one(", parts[0], ") {\n  ", results, " = ",
                                                parts[2], "\n  return ", names, "\n}\n"));
  TD_CHECK(graph.ok(), one_case, ": ", std::string(graph.status().message()));
  return *std::move(graph);
}

}  // namespace inductor::testing
