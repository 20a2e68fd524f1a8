// Orthogonal polynomials of scalars, as td_special.h before it. The degree is a number that ATen
// truncates; of a negative one the polynomial is 0.

namespace td_special {

template <class T>
TD_SPECIAL int64_t degree(T n) {
  return td_abs(n) < T(9.0e18) ? int64_t(n) : int64_t(-1);
}
// At 1 and -1: `value`, or its negative for odd degrees.
template <class T>
TD_SPECIAL T alternating(int64_t n, T value) {
  return n % 2 == 0 ? value : -value;
}

// ---- Chebyshev's ----
// Inside of (-1, 1) high degrees are trigonometric functions of acos(x).

constexpr int64_t kHighDegree = 8;
template <class T>
TD_SPECIAL bool is_trigonometric(T x, int64_t n, int64_t high = kHighDegree) {
  return n > high && td_abs(x) < T(1);
}

// From those of degrees 0, which is 1, and 1.
template <class T>
TD_SPECIAL T chebyshev_recurrence(T x, T first, int64_t n) {
  if (n == 0) return T(1);
  T p = T(1), q = first;
  for (int64_t k = 2; k <= n && q == q; ++k) {
    const T r = (x + x) * q - p;
    p = q;
    q = r;
  }
  return q;
}

template <class T>
TD_SPECIAL T chebyshev_t(T x, T number) {
  const int64_t n = degree(number);
  if (n < 0) return T(0);
  if (x == T(1)) return T(1);
  if (x == T(-1)) return alternating(n, T(1));
  if (is_trigonometric(x, n, kHighDegree - 2)) return td_cos(T(n) * td_acos(x));
  return chebyshev_recurrence(x, x, n);
}
template <class T>
TD_SPECIAL T chebyshev_u(T x, T number) {
  const int64_t n = degree(number);
  if (n < 0) return T(0);
  if (x == T(1)) return T(n + 1);
  if (x == T(-1)) return alternating(n, T(n + 1));
  if (is_trigonometric(x, n)) {
    const T angle = td_acos(x), sine = td_sin(angle);
    if (sine != T(0)) return td_sin(T(n + 1) * angle) / sine;
    return T(n + 1) * td_cos(T(n + 1) * angle) / x;
  }
  return chebyshev_recurrence(x, x + x, n);
}
template <class T>
TD_SPECIAL T chebyshev_v(T x, T number) {
  const int64_t n = degree(number);
  if (n < 0) return T(0);
  if (x == T(1)) return T(1);
  if (x == T(-1)) return alternating(n, T(n + n + 1));
  if (is_trigonometric(x, n)) {
    const T angle = td_acos(x), half = angle / T(2);
    if (td_sin(half) != T(1)) return td_cos((T(n) + T(0.5)) * angle) / td_cos(half);
    return alternating(n, T(n + n + 1));
  }
  return chebyshev_recurrence(x, x + x - T(1), n);
}
template <class T>
TD_SPECIAL T chebyshev_w(T x, T number) {
  const int64_t n = degree(number);
  if (n < 0) return T(0);
  if (x == T(1)) return T(n + n + 1);
  if (x == T(-1)) return alternating(n, T(1));
  if (is_trigonometric(x, n)) {
    const T angle = td_acos(x), half = angle / T(2);
    if (td_cos(half) != T(1)) return td_sin((T(n) + T(0.5)) * angle) / td_sin(half);
    return x > T(0) ? T(n + n + 1) : alternating(n, T(1));
  }
  return chebyshev_recurrence(x, x + x + T(1), n);
}

// ---- Others ----

// Beyond these degrees a number of the type does not hold Hermite's.
template <class T>
TD_SPECIAL bool is_too_high(int64_t n) {
  return n > (sizeof(T) == 4 ? 128 : 512);
}

// The physicists'.
template <class T>
TD_SPECIAL T hermite_h(T x, T number) {
  const int64_t n = degree(number);
  if (n <= 0) return n < 0 ? T(0) : T(1);
  if (is_too_high<T>(n)) return nan<T>();
  T p = T(1), q = x + x;
  for (int64_t k = 2; k < n + n; k += 2) {
    const T r = (x + x) * q - T(k) * p;
    p = q;
    q = r;
  }
  return q;
}
// The statisticians'.
template <class T>
TD_SPECIAL T hermite_he(T x, T number) {
  const int64_t n = degree(number);
  if (n <= 0) return n < 0 ? T(0) : T(1);
  if (is_too_high<T>(n)) return nan<T>();
  T p = T(1), q = x;
  for (int64_t k = 1; k < n; ++k) {
    const T r = x * q - T(k) * p;
    p = q;
    q = r;
  }
  return q;
}

template <class T>
TD_SPECIAL T laguerre(T x, T number) {
  const int64_t n = degree(number);
  if (n <= 0) return n < 0 ? T(0) : T(1);
  if (x == T(0)) return T(1);
  T p = T(1), q = T(1) - x;
  for (int64_t k = 1; k < n && q == q; ++k) {
    const T r = ((T(k + k) + (T(1) - x)) * q - T(k) * p) / T(k + 1);
    p = q;
    q = r;
  }
  return q;
}

template <class T>
TD_SPECIAL T legendre(T x, T number) {
  const int64_t n = degree(number);
  if (n <= 0) return n < 0 ? T(0) : T(1);
  if (td_abs(x) == T(1)) return x > T(0) ? T(1) : alternating(n, T(1));
  T p = T(1), q = x;
  for (int64_t k = 1; k < n && q == q; ++k) {
    const T r = (T(k + k + 1) * x * q - T(k) * p) / T(k + 1);
    p = q;
    q = r;
  }
  return q;
}

}  // namespace td_special
