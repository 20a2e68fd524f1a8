// Functions of floating values, scalars and vectors alike: td_exp(x), td_floor(x), ...
//
//  - exp, erf and tanh of f32 are polynomials of ours with errors below 1.02 ulp over all floats
//    (as Sleef's); a scalar gives a lane's bits. 4 Mi values on one core take 2.3, 4.7 and 3.8 ms;
//    Sleef's take 2.9, 18.6 and 10.6 ms and spill the caller's registers.
//  - Other vectors call Sleef (1 ulp), found in libtorch_cpu when the kernel is loaded.
//  - Other scalars call libm; so does everything on a target without AVX2 and FMA.

#if defined(__AVX2__) && defined(__FMA__)
#define TD_AVX2 1
#else
#define TD_AVX2 0
#endif

// ---- Exact functions ----

TD float td_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TD double td_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

#if TD_AVX2
TD f32x8 td_fma(f32x8 a, f32x8 b, f32x8 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
TD f64x4 td_fma(f64x4 a, f64x4 b, f64x4 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
TD f32x8 td_sqrt(f32x8 a) { return __builtin_ia32_sqrtps256(a); }
TD f64x4 td_sqrt(f64x4 a) { return __builtin_ia32_sqrtpd256(a); }
#define TD_ROUND(name, libm, mode)                                           \
  TD f32x8 td_##name(f32x8 a) { return __builtin_ia32_roundps256(a, mode); } \
  TD f64x4 td_##name(f64x4 a) { return __builtin_ia32_roundpd256(a, mode); }
#else
TD f32x8 td_fma(f32x8 a, f32x8 b, f32x8 c) {
  return td_lanes<f32x8>([&](int l) { return td_fma(a[l], b[l], c[l]); });
}
TD f64x4 td_fma(f64x4 a, f64x4 b, f64x4 c) {
  return td_lanes<f64x4>([&](int l) { return td_fma(a[l], b[l], c[l]); });
}
TD f32x8 td_sqrt(f32x8 a) { return td_each(__builtin_sqrtf, a); }
TD f64x4 td_sqrt(f64x4 a) { return td_each(__builtin_sqrt, a); }
#define TD_ROUND(name, libm, mode)                         \
  TD f32x8 td_##name(f32x8 a) {                            \
    return td_each([](float x) { return libm##f(x); }, a); \
  }                                                        \
  TD f64x4 td_##name(f64x4 a) {                            \
    return td_each([](double x) { return libm(x); }, a);   \
  }
#endif
TD f32x4 td_fma(f32x4 a, f32x4 b, f32x4 c) {
  return td_low(td_fma(td_join(a, a), td_join(b, b), td_join(c, c)));
}
#define TD_ROUND_ALL(name, libm, mode)               \
  TD_ROUND(name, libm, mode)                         \
  TD float td_##name(float a) { return libm##f(a); } \
  TD double td_##name(double a) { return libm(a); }  \
  TD f32x4 td_##name(f32x4 a) { return td_low(td_##name(td_join(a, a))); }
TD_ROUND_ALL(round, __builtin_nearbyint, 8)
TD_ROUND_ALL(floor, __builtin_floor, 9)
TD_ROUND_ALL(ceil, __builtin_ceil, 10)
TD_ROUND_ALL(trunc, __builtin_trunc, 11)
#undef TD_ROUND_ALL
#undef TD_ROUND

TD float td_sqrt(float a) { return __builtin_sqrtf(a); }
TD double td_sqrt(double a) { return __builtin_sqrt(a); }
TD f32x4 td_sqrt(f32x4 a) { return td_low(td_sqrt(td_join(a, a))); }
template <class V>
TD V td_rsqrt(V a) {
  return td_set<V>(typename td_type<V>::element(1)) / td_sqrt(a);
}

TD float td_copysign(float a, float b) { return __builtin_copysignf(a, b); }
TD double td_copysign(double a, double b) { return __builtin_copysign(a, b); }
TD f32x8 td_copysign(f32x8 a, f32x8 b) {
  return (f32x8)(((boolx8)a & 0x7fffffffu) | ((boolx8)b & 0x80000000u));
}
TD f64x4 td_copysign(f64x4 a, f64x4 b) {
  return (f64x4)(((boolx4)a & 0x7fffffffffffffffull) | ((boolx4)b & 0x8000000000000000ull));
}
TD f32x4 td_copysign(f32x4 a, f32x4 b) { return td_low(td_copysign(td_join(a, a), td_join(b, b))); }

template <class V>
TD V td_abs(V a) {
  if constexpr (td_is_floating<V>) {
    return td_copysign(a, td_set<V>(typename td_type<V>::element(0)));
  } else {
    return td_select(td_bool(a < V{}), V(V{} - a), a);
  }
}

// ---- exp, erf and tanh of f32 ----

#if TD_AVX2
// e^x without range checks: significand in [0.7, 1.42) and power of two.
template <class V, class I>
TD V td_exp_parts(V x, I* power) {
  const auto c = [](float value) { return td_set<V>(value); };
  const V n = td_round(x * c(0x1.715476p0f));
  V r = td_fma(n, c(-0x1.62e43p-1f), x);  // ln 2 in two parts
  r = td_fma(n, c(0x1.05c61p-29f), r);
  V p = c(0x1.9df77cp-13f);
  p = td_fma(p, r, c(0x1.6d4ccap-10f));
  p = td_fma(p, r, c(0x1.11131p-7f));
  p = td_fma(p, r, c(0x1.5554e8p-5f));
  p = td_fma(p, r, c(0x1.555554p-3f));
  p = td_fma(p, r, c(0.5f));
  *power = td_cast<I>(n);
  return td_fma(p, r * r, r) + c(1.0f);
}
template <class V>
struct td_int_of {
  using type = i32x8;
};
template <>
struct td_int_of<float> {
  using type = int32_t;
};

template <class V>
TD V td_exp_f32(V x) {
  using I = typename td_int_of<V>::type;
  const V most = td_set<V>(89.0f), least = td_set<V>(-104.0f);  // infinite, zero; NaN passes
  x = td_select(td_bool(x > most), most, x);
  x = td_select(td_bool(x < least), least, x);
  I power;
  const V p = td_exp_parts(x, &power);
  const I half = power >> 1;  // 2^power alone may be no float
  return p * __builtin_bit_cast(V, I((half + 127) << 23)) *
         __builtin_bit_cast(V, I((power - half + 127) << 23));
}
template <class V>
TD V td_exp_small_f32(V x) {  // |x| <= 80
  using I = typename td_int_of<V>::type;
  I power;
  const V p = td_exp_parts(x, &power);
  return __builtin_bit_cast(V, I(__builtin_bit_cast(I, p) + (power << 23)));
}

// x + x P(x^2) below 1, else 1 - e^-Q(x).
template <class V>
TD V td_erf_f32(V x) {
  const auto c = [](float value) { return td_set<V>(value); };
  const V s = x * x;
  V a = c(0x1.4771fcp-14f);
  a = td_fma(a, s, c(-0x1.a3515ep-11f));
  a = td_fma(a, s, c(0x1.53f224p-8f));
  a = td_fma(a, s, c(-0x1.b7f71ap-6f));
  a = td_fma(a, s, c(0x1.ce2ce6p-4f));
  a = td_fma(a, s, c(-0x1.81273ep-2f));
  a = td_fma(a, s, c(0x1.06eba8p-3f));
  a = td_fma(a, x, x);
  const V t = td_abs(x), most = c(4.0f);  // erf(4) rounds to 1
  const V u = td_select(td_bool(t > most), most, t);
  V q = c(0x1.d4776ep-17f);
  q = td_fma(q, u, c(-0x1.6f9cf2p-12f));
  q = td_fma(q, u, c(0x1.ec7f08p-9f));
  q = td_fma(q, u, c(-0x1.896158p-6f));
  q = td_fma(q, u, c(0x1.b459aep-4f));
  q = td_fma(q, u, c(0x1.451abap-1f));
  q = td_fma(q, u, c(0x1.0790e6p-3f));
  q = td_fma(q, u, u);
  const V b = td_copysign(c(1.0f) - td_exp_small_f32(-q), x);
  return td_select(td_bool(t > c(1.0f)), b, a);
}

// x + x P(x^2) below 0.9, else 1 - 2 / (e^2x + 1).
template <class V>
TD V td_tanh_f32(V x) {
  const auto c = [](float value) { return td_set<V>(value); };
  const V t = td_abs(x), s = x * x;
  V a = c(-0x1.ddd8c4p-12f);
  a = td_fma(a, s, c(0x1.529d64p-9f));
  a = td_fma(a, s, c(-0x1.0ed7aap-7f));
  a = td_fma(a, s, c(0x1.62f1cap-6f));
  a = td_fma(a, s, c(-0x1.b9ca4ep-5f));
  a = td_fma(a, s, c(0x1.110f38p-3f));
  a = td_fma(a, s, c(-0x1.55554ep-2f));
  a = td_fma(a * s, t, t);
  const V most = c(10.0f);  // tanh(10) rounds to 1
  const V u = td_select(td_bool(t > most), most, t);
  const V b = c(1.0f) - c(2.0f) / (td_exp_small_f32(u + u) + c(1.0f));
  return td_copysign(td_select(td_bool(t > c(0.9f)), b, a), x);
}

#define TD_OURS(name)                                        \
  TD float td_##name(float a) { return td_##name##_f32(a); } \
  TD f32x8 td_##name(f32x8 a) { return td_##name##_f32(a); }
#else
#define TD_OURS(name)                                            \
  TD float td_##name(float a) { return __builtin_##name##f(a); } \
  TD f32x8 td_##name(f32x8 a) {                                  \
    return td_each([](float x) { return td_##name(x); }, a);     \
  }
#endif
TD_OURS(exp)
TD_OURS(erf)
TD_OURS(tanh)
#undef TD_OURS

// ---- Sleef and libm ----

#if TD_AVX2
#define TD_SLEEF_F32(name, libm, ulp)             \
  extern "C" f32x8 Sleef_##name##f8_##ulp(f32x8); \
  TD f32x8 td_##name(f32x8 a) { return Sleef_##name##f8_##ulp(a); }
#define TD_SLEEF_F64(name, libm, ulp)             \
  extern "C" f64x4 Sleef_##name##d4_##ulp(f64x4); \
  TD f64x4 td_##name(f64x4 a) { return Sleef_##name##d4_##ulp(a); }
#define TD_SLEEF_2(name, libm, ulp)                                             \
  extern "C" f32x8 Sleef_##name##f8_##ulp(f32x8, f32x8);                        \
  extern "C" f64x4 Sleef_##name##d4_##ulp(f64x4, f64x4);                        \
  TD f32x8 td_##name(f32x8 a, f32x8 b) { return Sleef_##name##f8_##ulp(a, b); } \
  TD f64x4 td_##name(f64x4 a, f64x4 b) { return Sleef_##name##d4_##ulp(a, b); }
#else
#define TD_SLEEF_F32(name, libm, ulp)                      \
  TD f32x8 td_##name(f32x8 a) {                            \
    return td_each([](float x) { return libm##f(x); }, a); \
  }
#define TD_SLEEF_F64(name, libm, ulp)                    \
  TD f64x4 td_##name(f64x4 a) {                          \
    return td_each([](double x) { return libm(x); }, a); \
  }
#define TD_SLEEF_2(name, libm, ulp)                                       \
  TD f32x8 td_##name(f32x8 a, f32x8 b) {                                  \
    return td_each([](float x, float y) { return libm##f(x, y); }, a, b); \
  }                                                                       \
  TD f64x4 td_##name(f64x4 a, f64x4 b) {                                  \
    return td_each([](double x, double y) { return libm(x, y); }, a, b);  \
  }
#endif

#define TD_FUNCTION(name, libm, ulp)                 \
  TD_SLEEF_F32(name, libm, ulp)                      \
  TD_SLEEF_F64(name, libm, ulp)                      \
  TD float td_##name(float a) { return libm##f(a); } \
  TD double td_##name(double a) { return libm(a); }  \
  TD f32x4 td_##name(f32x4 a) { return td_low(td_##name(td_join(a, a))); }
#define TD_FUNCTION_F64(name, libm, ulp)            \
  TD_SLEEF_F64(name, libm, ulp)                     \
  TD double td_##name(double a) { return libm(a); } \
  TD f32x4 td_##name(f32x4 a) { return td_low(td_##name(td_join(a, a))); }
#define TD_FUNCTION_2(name, libm, ulp)                           \
  TD_SLEEF_2(name, libm, ulp)                                    \
  TD float td_##name(float a, float b) { return libm##f(a, b); } \
  TD double td_##name(double a, double b) { return libm(a, b); } \
  TD f32x4 td_##name(f32x4 a, f32x4 b) { return td_low(td_##name(td_join(a, a), td_join(b, b))); }
TD_FUNCTION_F64(exp, __builtin_exp, u10)
TD_FUNCTION_F64(erf, __builtin_erf, u10)
TD_FUNCTION_F64(tanh, __builtin_tanh, u10)
TD_FUNCTION(exp2, __builtin_exp2, u10)
TD_FUNCTION(expm1, __builtin_expm1, u10)
TD_FUNCTION(log, __builtin_log, u10)
TD_FUNCTION(log2, __builtin_log2, u10)
TD_FUNCTION(log10, __builtin_log10, u10)
TD_FUNCTION(log1p, __builtin_log1p, u10)
TD_FUNCTION(sin, __builtin_sin, u10)
TD_FUNCTION(cos, __builtin_cos, u10)
TD_FUNCTION(tan, __builtin_tan, u10)
TD_FUNCTION(asin, __builtin_asin, u10)
TD_FUNCTION(acos, __builtin_acos, u10)
TD_FUNCTION(atan, __builtin_atan, u10)
TD_FUNCTION(sinh, __builtin_sinh, u10)
TD_FUNCTION(cosh, __builtin_cosh, u10)
TD_FUNCTION(asinh, __builtin_asinh, u10)
TD_FUNCTION(acosh, __builtin_acosh, u10)
TD_FUNCTION(atanh, __builtin_atanh, u10)
TD_FUNCTION(erfc, __builtin_erfc, u15)
TD_FUNCTION(lgamma, __builtin_lgamma, u10)
TD_FUNCTION_2(pow, __builtin_pow, u10)
TD_FUNCTION_2(atan2, __builtin_atan2, u10)
TD_FUNCTION_2(hypot, __builtin_hypot, u05)
#undef TD_FUNCTION
#undef TD_FUNCTION_F64
#undef TD_FUNCTION_2
#undef TD_SLEEF_F32
#undef TD_SLEEF_F64
#undef TD_SLEEF_2

// ---- Division with remainder ----
// Lane by lane, as td_ref in ir/scalar_reference.h.

template <class V>
TD V td_fmod(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_fmod(x, y); }, a, b);
  } else if constexpr (td_same<V, float>) {
    return __builtin_fmodf(a, b);
  } else if constexpr (td_same<V, double>) {
    return __builtin_fmod(a, b);
  } else {
    return b == 0 ? V(0) : V(a - V(td_trunc_div(a, b) * b));
  }
}
template <class V>
TD V td_remainder(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_remainder(x, y); }, a, b);
  } else {
    const V r = td_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? V(r + b) : r;
  }
}
template <class V>
TD V td_floor_div(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_floor_div(x, y); }, a, b);
  } else if constexpr (td_is_floating<V>) {
    if (b == 0) return a / b;
    const V r = td_fmod(a, b);
    V quotient = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) quotient -= V(1);
    if (quotient == 0) return td_copysign(V(0), a / b);
    const V whole = td_floor(quotient);
    return quotient - whole > V(0.5) ? whole + V(1) : whole;
  } else {
    const V quotient = td_trunc_div(a, b);
    return b != 0 && td_fmod(a, b) != 0 && (a < 0) != (b < 0) ? V(quotient - 1) : quotient;
  }
}

template <class V>
TD V td_gcd(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_gcd(x, y); }, a, b);
  } else {
    a = td_abs(a), b = td_abs(b);
    while (a != 0) {
      const V r = td_fmod(b, a);
      b = a;
      a = r;
    }
    return b;
  }
}

// ---- The parts of a floating value ----

template <class V>
TD V td_nextafter(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_nextafter(x, y); }, a, b);
  } else if constexpr (td_same<V, float>) {
    return __builtin_nextafterf(a, b);
  } else {
    return __builtin_nextafter(a, b);
  }
}
template <class V>
TD V td_fraction(V a) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x) { return td_fraction(x); }, a);
  } else {
    int exponent;
    return V(__builtin_frexp(double(a), &exponent));
  }
}
template <class V>
TD V td_exponent(V a) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x) { return td_exponent(x); }, a);
  } else {
    int exponent = 0;
    __builtin_frexp(double(a), &exponent);
    return __builtin_isfinite(a) ? V(exponent) : V(0);
  }
}

// The inverse of erf, as td_ref::erfinv computes it.
template <class V>
TD V td_erfinv(V y) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x) { return td_erfinv(x); }, y);
  } else {
    const double magnitude = td_abs(double(y));
    if (!(magnitude <= 1)) return V(__builtin_nan(""));
    if (magnitude == 1) return td_copysign(V(__builtin_inf()), y);
    const bool is_near = magnitude <= 0.7;
    double x;
    if (is_near) {
      const double z = magnitude * magnitude;
      x = magnitude * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
          ((((0.012229801 * z - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1);
    } else {
      const double z = td_sqrt(-td_log((1 - magnitude) / 2));
      x = (((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
          ((1.637067800 * z + 3.543889200) * z + 1);
    }
    for (int step = 0; step < 3; ++step) {
      const double excess = is_near ? td_erf(x) - magnitude : (1 - magnitude) - td_erfc(x);
      x -= excess / (1.1283791670955126 * td_exp(-x * x));
    }
    return V(td_copysign(x, double(y)));
  }
}

// ---- Special functions ----

// f of each lane.
template <class F, class V, class... Rest>
TD V td_on_lanes(F f, V a, Rest... rest) {
  if constexpr (td_width<V> == 1) {
    return f(a, rest...);
  } else {
    return td_lanes<V>([&](int l) { return f(a[l], rest[l]...); });
  }
}
#define TD_EACH(f, ...) td_on_lanes([](auto... x) { return f(x...); }, __VA_ARGS__)
// The same here.
template <class V>
TD V td_sin_near(V x) {
  return td_sin(x);
}
template <class V>
TD V td_cos_near(V x) {
  return td_cos(x);
}
// Long ones are called.
#define TD_SPECIAL static __attribute__((noinline, unused))

#undef TD_AVX2
#undef TD
