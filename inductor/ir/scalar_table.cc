#include "inductor/ir/scalar_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "aten_bridge/base/check.h"
#include "inductor/ir/scalar_reference.h"

namespace inductor {
namespace {

constexpr auto kSame = ScalarResult::kSame;
constexpr auto kBool = ScalarResult::kBool;

constexpr ScalarOpRow kRows[] = {
#define SCALAR_OP(name, arity, result, domain, cost, spelling, reference) \
  {ScalarOp::name, #name, arity, result, domain, cost, spelling},
#include "inductor/ir/scalar_ops.def"
#undef SCALAR_OP
};

constexpr int kFirst = static_cast<int>(kRows[0].op);

// Calls f with a zero of the C++ type that a dtype's arithmetic is done in.
template <class F>
auto with_scalar_type(DType dtype, F f) {
  switch (dtype) {
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kBool:
      return f(bool{});
    default:
      TD_CHECK(false, "no scalar arithmetic on ", to_string(dtype));
  }
}

template <class T>
constexpr char kDomainOf = std::is_floating_point_v<T> ? 'F'
                           : std::is_same_v<T, bool>   ? 'B'
                                                       : 'I';

template <class T>
T read(const ScalarValue& v) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(v.floating);
  return static_cast<T>(v.integer);
}

template <class T>
ScalarValue write(DType dtype, T value) {
  if constexpr (std::is_floating_point_v<T>) return ScalarValue::of(dtype, value);
  return ScalarValue::of_integer(dtype, static_cast<int64_t>(value));
}

template <class T, class Condition>
ScalarValue evaluate_on(ScalarOp op, DType result, Condition a, T b, T c) {
  switch (op) {
#define SCALAR_OP(name, arity, kind, domain, cost, spelling, reference)                    \
  case ScalarOp::name:                                                                     \
    if constexpr (std::string_view(domain).find(kDomainOf<T>) != std::string_view::npos && \
                  ((arity == 3 && std::is_same_v<Condition, bool>) ||                      \
                   std::is_same_v<T, Condition>))                                          \
      return write(result, reference);                                                     \
    break;
#include "inductor/ir/scalar_ops.def"
#undef SCALAR_OP
    default:
      break;
  }
  TD_CHECK(false, "not in the table's domain");
}

// Rounds to a floating type of 16 bits, to nearest even: `digits` of significand, exponents from
// `least`.
double round_to(double value, int digits, int least, double greatest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > greatest
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : rounded;
}

}  // namespace

std::span<const ScalarOpRow> scalar_ops() { return kRows; }

bool is_in_table(ScalarOp op) { return static_cast<int>(op) >= kFirst; }

const ScalarOpRow& row(ScalarOp op) {
  TD_CHECK(is_in_table(op), "constants, loads, indices and casts have no row");
  return kRows[static_cast<int>(op) - kFirst];
}

std::optional<ScalarOp> parse_scalar_op(std::string_view name) {
  for (const ScalarOpRow& r : kRows)
    if (r.name == name) return r.op;
  return std::nullopt;
}

bool is_defined_on(const ScalarOpRow& row, DType dtype) {
  if (dtype != compute_dtype(dtype) || !is_computed(dtype)) return false;
  const char domain = dtype == DType::kBool ? 'B' : is_floating(dtype) ? 'F' : 'I';
  return row.domain.find(domain) != std::string_view::npos;
}

DType compute_dtype(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

ScalarValue ScalarValue::of(DType dtype, double value) {
  TD_CHECK(is_floating(dtype), "a floating value of dtype ", to_string(dtype));
  if (dtype != DType::kFloat64) value = static_cast<float>(value);
  if (dtype == DType::kFloat16) value = round_to(value, 11, -14, 65504);
  if (dtype == DType::kBFloat16) value = round_to(value, 8, -126, 0x1.fep127);
  return {.dtype = dtype, .floating = value};
}

ScalarValue ScalarValue::of_integer(DType dtype, int64_t value) {
  TD_CHECK(is_integral(dtype), "an integer value of dtype ", to_string(dtype));
  const int64_t wrapped = with_scalar_type(dtype, [&](auto zero) -> int64_t {
    return static_cast<int64_t>(static_cast<decltype(zero)>(value));
  });
  return {.dtype = dtype, .integer = wrapped};
}

bool same_bits(const ScalarValue& a, const ScalarValue& b) {
  return a.dtype == b.dtype && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.floating) == std::bit_cast<uint64_t>(b.floating);
}

ScalarValue evaluate(ScalarOp op, std::span<const ScalarValue> args) {
  const ScalarOpRow& r = row(op);
  TD_CHECK(static_cast<int>(args.size()) == r.arity, r.name, ": wrong number of arguments");
  const DType dtype = args.back().dtype;
  const DType result = r.result == ScalarResult::kBool ? DType::kBool : dtype;
  return with_scalar_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T b = read<T>(args[std::min<size_t>(1, args.size() - 1)]), c = read<T>(args.back());
    if (op == ScalarOp::select) return evaluate_on<T, bool>(op, result, args[0].integer != 0, b, c);
    return evaluate_on<T, T>(op, result, read<T>(args[0]), b, c);
  });
}

std::optional<ScalarValue> convert(const ScalarValue& value, DType dtype) {
  if (is_floating(dtype)) {
    const double source =
        is_floating(value.dtype) ? value.floating : static_cast<double>(value.integer);
    // int64 to float32 rounds once: through double it would round twice.
    if (!is_floating(value.dtype) && dtype == DType::kFloat32)
      return ScalarValue::of(dtype, static_cast<float>(value.integer));
    return ScalarValue::of(dtype, source);
  }
  if (!is_floating(value.dtype))
    return ScalarValue::of_integer(dtype,
                                   dtype == DType::kBool ? value.integer != 0 : value.integer);
  if (dtype == DType::kBool) return ScalarValue::of_integer(dtype, value.floating != 0);
  return with_scalar_type(dtype, [&](auto zero) -> std::optional<ScalarValue> {
    using T = decltype(zero);
    // Exactly representable limits: -2^k and 2^k.
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double whole = std::trunc(value.floating);
    if (!(whole >= low && whole < high)) return std::nullopt;
    return ScalarValue::of_integer(dtype, static_cast<int64_t>(whole));
  });
}

}  // namespace inductor
