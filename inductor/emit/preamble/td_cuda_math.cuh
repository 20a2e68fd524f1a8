// Functions of floating values: td_exp(x), td_floor(x), ... CUDA's math library, the accurate
// functions, as in ATen's kernels; rsqrt too is a function of its own there, not 1 / sqrt(x).
// erf and tanh of float are ours, because CUDA's keep kernels of half types below the bandwidth:
// over all floats at most 1.84 and 1.82 ulp from the true value (CUDA's: 1.04 and 1.82).

#define TD_FUNCTION(name, cuda)                      \
  TD float td_##name(float a) { return cuda##f(a); } \
  TD double td_##name(double a) { return cuda(a); }
#define TD_FUNCTION_2(name)                                      \
  TD float td_##name(float a, float b) { return name##f(a, b); } \
  TD double td_##name(double a, double b) { return name(a, b); }
TD_FUNCTION(floor, floor)
TD_FUNCTION(ceil, ceil)
TD_FUNCTION(round, nearbyint)
TD_FUNCTION(trunc, trunc)
TD_FUNCTION(sqrt, sqrt)
TD_FUNCTION(rsqrt, rsqrt)
TD_FUNCTION(exp, exp)
TD_FUNCTION(exp2, exp2)
TD_FUNCTION(expm1, expm1)
TD_FUNCTION(log, log)
TD_FUNCTION(log2, log2)
TD_FUNCTION(log10, log10)
TD_FUNCTION(log1p, log1p)
TD_FUNCTION(sin, sin)
TD_FUNCTION(cos, cos)
TD_FUNCTION(tan, tan)
TD_FUNCTION(asin, asin)
TD_FUNCTION(acos, acos)
TD_FUNCTION(atan, atan)
TD_FUNCTION(sinh, sinh)
TD_FUNCTION(cosh, cosh)
TD_FUNCTION(asinh, asinh)
TD_FUNCTION(acosh, acosh)
TD_FUNCTION(atanh, atanh)
TD_FUNCTION(erfc, erfc)
TD_FUNCTION(erfinv, erfinv)
TD_FUNCTION(lgamma, lgamma)
TD_FUNCTION_2(pow)
TD_FUNCTION_2(hypot)
TD_FUNCTION_2(copysign)
TD_FUNCTION_2(atan2)
#undef TD_FUNCTION
#undef TD_FUNCTION_2
TD float td_fma(float a, float b, float c) { return fmaf(a, b, c); }
TD double td_fma(double a, double b, double c) { return fma(a, b, c); }
TD double td_sin_near(double a) { return sin(a); }
TD double td_cos_near(double a) { return cos(a); }
TD double td_erf(double a) { return erf(a); }
TD double td_tanh(double a) { return tanh(a); }

// x + x P(x^2) below 0.65, else 1 - 2^-Q(x). 17 instructions; CUDA's erff takes 22, of which 9
// choose coefficients at half the rate.
TD float td_erf(float x) {
  const float s = x * x;
  float a = 0x1.20404p-8f;
  a = fmaf(a, s, -0x1.b34bc2p-6f);
  a = fmaf(a, s, 0x1.ce0048p-4f);
  a = fmaf(a, s, -0x1.8126a8p-2f);
  a = fmaf(a, s, 0x1.06eba6p-3f);
  a = fmaf(a, x, x);
  const float t = fabsf(x), u = fminf(t, 3.95f);  // erf(3.95) rounds to 1
  float q = 0x1.404bdp-12f;
  q = fmaf(q, u, -0x1.2ed436p-8f);
  q = fmaf(q, u, 0x1.0e47cap-5f);
  q = fmaf(q, u, -0x1.36fbep-3f);
  q = fmaf(q, u, -0x1.d592ecp-1f);
  q = fmaf(q, u, -0x1.a0cbd8p+0f);
  const float b = 1.0f - td_exp2_near(q * u);
  return copysignf(t > 0.65f ? b : a, x);  // NaN is in a
}

// x + x P(x^2) below 0.595, else 1 - 2 / (e^2x + 1). 13 instructions; CUDA's tanhf takes 15.
TD float td_tanh(float x) {
  const float s = x * x;
  float a = 0x1.011432p-6f;
  a = fmaf(a, s, -0x1.ac1ad8p-5f);
  a = fmaf(a, s, 0x1.10ab78p-3f);
  a = fmaf(a, s, -0x1.555384p-2f);
  a = fmaf(a * s, x, x);
  const float t = fabsf(x);
  const float power = td_exp2_near(t * 0x1.715476p+1f);
  const float b = fmaf(td_reciprocal_near(power + 1.0f), -2.0f, 1.0f);
  return copysignf(t > 0.595f ? b : a, x);
}

template <class T>
TD T td_abs(T a) {
  if constexpr (td_same<T, float>)
    return fabsf(a);
  else if constexpr (td_same<T, double>)
    return fabs(a);
  else
    return a < 0 ? td_neg(a) : a;
}

// ---- Division with remainder ----
// As td_ref in ir/scalar_reference.h.

template <class T>
TD T td_fmod(T a, T b) {
  if constexpr (td_same<T, float>)
    return fmodf(a, b);
  else if constexpr (td_same<T, double>)
    return fmod(a, b);
  else
    return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}
template <class T>
TD T td_remainder(T a, T b) {
  const T r = td_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
}
template <class T>
TD T td_floor_div(T a, T b) {
  if constexpr (td_is_floating<T>) {
    if (b == 0) return a / b;
    const T r = td_fmod(a, b);
    T quotient = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) quotient -= T(1);
    if (quotient == 0) return td_copysign(T(0), a / b);
    const T whole = td_floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  } else {
    const T quotient = td_trunc_div(a, b);
    return b != 0 && td_fmod(a, b) != 0 && (a < 0) != (b < 0) ? T(quotient - 1) : quotient;
  }
}
template <class T>
TD T td_gcd(T a, T b) {
  a = td_abs(a), b = td_abs(b);
  while (a != 0) {
    const T r = td_fmod(b, a);
    b = a;
    a = r;
  }
  return b;
}

// ---- The parts of a floating value ----

TD float td_nextafter(float a, float b) { return nextafterf(a, b); }
TD double td_nextafter(double a, double b) { return nextafter(a, b); }
template <class T>
TD T td_fraction(T a) {
  int exponent;
  return T(frexp(double(a), &exponent));
}
template <class T>
TD T td_exponent(T a) {
  int exponent = 0;
  frexp(double(a), &exponent);
  return td_abs(a) < T(__builtin_inf()) ? T(exponent) : T(0);
}

// ---- Special functions ----

#define TD_EACH(f, ...) f(__VA_ARGS__)
#define TD_SPECIAL static __device__
