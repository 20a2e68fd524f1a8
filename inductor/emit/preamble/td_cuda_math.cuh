// Functions of floating values: td_exp(x), td_floor(x), ... CUDA's math library, the accurate
// functions, as in ATen's kernels; rsqrt too is a function of its own there, not 1 / sqrt(x).

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
TD_FUNCTION(tanh, tanh)
TD_FUNCTION(asinh, asinh)
TD_FUNCTION(acosh, acosh)
TD_FUNCTION(atanh, atanh)
TD_FUNCTION(erf, erf)
TD_FUNCTION(erfc, erfc)
TD_FUNCTION(erfinv, erfinv)
TD_FUNCTION(lgamma, lgamma)
TD_FUNCTION_2(pow)
TD_FUNCTION_2(hypot)
TD_FUNCTION_2(copysign)
TD_FUNCTION_2(atan2)
#undef TD_FUNCTION
#undef TD_FUNCTION_2

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
