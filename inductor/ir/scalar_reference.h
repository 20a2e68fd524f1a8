// What the scalar operators compute where C++ has no operator or function for it: the reference
// column of scalar_ops.def.
//   td_ref::maximum(NAN, 1.0f)      // NaN
//   td_ref::floor_div(-7, 2)        // -4
//   td_ref::add(INT64_MAX, 1)       // wraps
// Templates over the C++ scalar of a dtype: float, double, the integers, bool.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

namespace td_ref {

// Computes an integer operation in the unsigned type of at least 32 bits, where overflow wraps.
template <class T, class F>
T wrapping(T a, T b, F operation) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(operation(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return operation(a, b);
  }
}

template <class T>
T add(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T sub(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T mul(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
T neg(T a) {
  if constexpr (std::is_floating_point_v<T>) return -a;
  return sub(T{0}, a);
}
template <class T>
T abs(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
  return a < T{0} ? neg(a) : a;
}

template <class T>
T trunc_div(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return neg(a);  // the least integer has no negative: it wraps
  }
  return static_cast<T>(a / b);
}
template <class T>
T fmod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  return b == 0 ? T{0} : sub(a, mul(trunc_div(a, b), b));
}
template <class T>
T remainder(T a, T b) {
  const T r = td_ref::fmod(a, b);
  return (r != 0 && (r < 0) != (b < 0)) ? add(r, b) : r;
}
// ATen's: c10::div_floor_floating, c10::div_floor_integer.
template <class T>
T floor_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0) return a / b;
    const T r = std::fmod(a, b);
    T quotient = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) quotient -= T{1};
    if (quotient == 0) return std::copysign(T{0}, a / b);
    const T whole = std::floor(quotient);
    return quotient - whole > T{0.5} ? whole + T{1} : whole;
  } else {
    const T quotient = trunc_div(a, b);
    return (b != 0 && fmod(a, b) != 0 && (a < 0) != (b < 0)) ? sub(quotient, T{1}) : quotient;
  }
}

template <class T>
T maximum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  return a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  return a < b ? a : b;
}

template <class T>
T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
template <class T>
T shift_left(T a, T b) {
  constexpr int kBits = sizeof(T) * 8;
  if (b < 0 || b >= kBits) return 0;
  using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  return static_cast<T>(static_cast<Wide>(a) << b);
}
template <class T>
T shift_right(T a, T b) {
  constexpr int kMost = sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0);
  if (b < 0 || b >= kMost) {
    if constexpr (std::is_signed_v<T>) return a < 0 ? T{-1} : T{0};
    return 0;
  }
  return static_cast<T>(a >> b);
}

// The inverse of erf: a rational guess, then Newton steps, which near 1 are made on erfc: there erf
// tells neighbouring x apart no more.
template <class T>
T erfinv(T y) {
  if (!(std::fabs(y) <= T{1})) return std::numeric_limits<T>::quiet_NaN();
  if (std::fabs(y) == T{1}) return std::copysign(std::numeric_limits<T>::infinity(), y);
  constexpr double kNear[] = {0.886226899, -1.645349621, 0.914624893, -0.140543331};
  constexpr double kNearBelow[] = {1, -2.118377725, 1.442710462, -0.329097515, 0.012229801};
  constexpr double kFar[] = {-1.970840454, -1.624906493, 3.429567803, 1.641345311};
  constexpr double kFarBelow[] = {1, 3.543889200, 1.637067800};
  const auto horner = [](const auto& coefficients, double at) {
    double sum = 0;
    for (int i = static_cast<int>(std::size(coefficients)) - 1; i >= 0; --i)
      sum = sum * at + coefficients[i];
    return sum;
  };
  const double magnitude = std::fabs(static_cast<double>(y));
  const bool is_near = magnitude <= 0.7;
  const double z = is_near ? magnitude * magnitude : std::sqrt(-std::log((1 - magnitude) / 2));
  double x = is_near ? magnitude * horner(kNear, z) / horner(kNearBelow, z)
                     : horner(kFar, z) / horner(kFarBelow, z);
  constexpr double kTwoOverRootPi = 1.1283791670955126;
  for (int step = 0; step < 3; ++step) {
    const double excess = is_near ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
    x -= excess / (kTwoOverRootPi * std::exp(-x * x));
  }
  return static_cast<T>(std::copysign(x, static_cast<double>(y)));
}

template <class T>
T gcd(T a, T b) {  // of the least integer, which has no positive, as ATen's loop gives it
  a = td_ref::abs(a);
  b = td_ref::abs(b);
  while (a != 0) {
    const T r = td_ref::fmod(b, a);
    b = a;
    a = r;
  }
  return b;
}

// a = fraction(a) * 2^exponent(a); the fraction is in [0.5, 1), or a itself where it is zero or not
// finite.
template <class T>
T fraction(T a) {
  int exponent = 0;
  return std::frexp(a, &exponent);
}
template <class T>
T exponent(T a) {
  int exponent = 0;
  std::frexp(a, &exponent);
  return std::isfinite(a) ? static_cast<T>(exponent) : T{0};
}

// The special functions of kernels, over the standard library's elementary ones.
#define TD_SPECIAL inline
#define TD_STANDARD(name)                                  \
  inline float td_##name(float a) { return std::name(a); } \
  inline double td_##name(double a) { return std::name(a); }
TD_STANDARD(abs)
TD_STANDARD(acos)
TD_STANDARD(cos)
TD_STANDARD(erfc)
TD_STANDARD(exp)
TD_STANDARD(floor)
TD_STANDARD(log)
TD_STANDARD(sin)
TD_STANDARD(sqrt)
TD_STANDARD(tan)
TD_STANDARD(trunc)
#undef TD_STANDARD
template <class T>
T td_pow(T a, T b) {
  return std::pow(a, b);
}
template <class T>
T td_copysign(T a, T b) {
  return std::copysign(a, b);
}
#include "inductor/emit/preamble/td_special.h"
// These stand on the one above.
#include "inductor/emit/preamble/td_bessel.h"
#include "inductor/emit/preamble/td_polynomials.h"
#include "inductor/emit/preamble/td_random.h"
#undef TD_SPECIAL

}  // namespace td_ref
