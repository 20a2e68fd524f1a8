// Special functions of scalars: gamma and error functions. One text for kernels of the CPU, kernels
// of a GPU and the reference column of scalar_ops.def, whose names for elementary functions it uses
// (td_exp(x), td_log(x), ...); every_row_test compares with ATen.
//   TD_EACH(td_special::digamma, x)      // on each lane
//
// Algorithms and coefficients are those of the Cephes library, as in ATen, in the argument's type.
// TD_SPECIAL is what stands before a function.

namespace td_special {

template <class T>
TD_SPECIAL T infinity() {
  return T(__builtin_inf());
}
template <class T>
TD_SPECIAL T nan() {
  return T(__builtin_nan(""));
}

// The first coefficient is that of the highest power.
template <class T, class... Coefficients>
TD_SPECIAL T polynomial(T x, Coefficients... coefficients) {
  T sum = T(0);
  ((sum = sum * x + T(coefficients)), ...);
  return sum;
}

// A series of Chebyshev polynomials of x / 2, that of the highest degree first; the last one counts
// by half.
template <class T, class... Coefficients>
TD_SPECIAL T chebyshev(T x, Coefficients... coefficients) {
  T b0 = T(0), b1 = T(0), b2 = T(0);
  ((b2 = b1, b1 = b0, b0 = x * b1 - b2 + T(coefficients)), ...);
  return T(0.5) * (b0 - b2);
}

// ---- Gamma functions ----

constexpr double kPi = 3.141592653589793;

// Recurrence up to 10, then the asymptotic series; by reflection below 0.
template <class T>
TD_SPECIAL T digamma(T x) {
  if (x == T(0)) return td_copysign(infinity<T>(), -x);
  T result = T(0);
  if (x < T(0)) {
    const T fraction = x - td_trunc(x);
    if (fraction == T(0)) return nan<T>();
    result = T(-kPi / td_tan(kPi * double(fraction)));
    x = T(1) - x;
  }
  T below = T(0);
  while (x < T(10)) {
    below -= T(1) / x;
    x += T(1);
  }
  if (x == T(10)) return result + (below + T(2.25175258906672110764));
  T series = T(0);
  if (x < T(1.0e17)) {
    const T z = T(1) / (x * x);
    series = z * polynomial(z, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252,
                            -1.0 / 120, 1.0 / 12);
  }
  return result + (below + td_log(x) - T(0.5) / x - series);
}

template <class T>
TD_SPECIAL T trigamma(T x) {
  const bool reflected = x < T(0.5);
  T result = T(0);
  if (reflected) {
    const T sine = td_sin(T(kPi) * x);
    result -= T(kPi) * T(kPi) / (sine * sine);
    x = T(1) - x;
  }
  for (int i = 0; i < 6; ++i) {
    result += T(1) / (x * x);
    x += T(1);
  }
  const T z = T(1) / (x * x);
  result += (T(1) + T(1) / (T(2) * x) + z * (T(1.0 / 6) - z * (T(1.0 / 30) - z * T(1.0 / 42)))) / x;
  return reflected ? -result : result;
}

// Hurwitz's: the sum of (q + k)^-x. Euler and Maclaurin's formula after the first terms.
template <class T>
TD_SPECIAL T zeta(T x, T q) {
  if (x == T(1)) return infinity<T>();
  if (x < T(1)) return nan<T>();
  if (q <= T(0)) {
    if (q == td_floor(q)) return infinity<T>();
    if (x != td_floor(x)) return nan<T>();
  }
  const T epsilon = T(1.11022302462515654042e-16);
  T sum = td_pow(q, -x), a = q, b = T(0);
  for (int i = 0; i < 9 || a <= T(9); ++i) {
    a += T(1);
    b = td_pow(a, -x);
    sum += b;
    if (-epsilon * sum < b && b < epsilon * sum) return sum;
  }
  const T w = a;
  sum += b * w / (x - T(1));
  sum -= T(0.5) * b;
  T factor = T(1), k = T(0);
  bool goes_on = true;
  const auto add = [&](double bernoulli) {
    if (!goes_on) return;
    factor *= x + k;
    b /= w;
    const T term = factor * b / T(bernoulli);
    sum = sum + term;
    goes_on = !(td_abs(term / sum) < epsilon);
    k += T(1);
    factor *= x + k;
    b /= w;
    k += T(1);
  };
  add(12.0);
  add(-720.0);
  add(30240.0);
  add(-1209600.0);
  add(47900160.0);
  add(-1.8924375803183791606e9);
  add(7.47242496e10);
  add(-2.950130727918164224e12);
  add(1.1646782814350067249e14);
  add(-4.5979787224074726105e15);
  add(1.8152105401943546773e17);
  add(-7.1661652561756670113e18);
  return sum;
}

// ---- Error functions ----

// e^(x^2) erfc(x): as it is written, with what rounding x^2 leaves off, as long as erfc is a normal
// number; then the asymptotic series. A float is computed in double.
TD_SPECIAL double erfcx(double x) {
  if (x < -27) return infinity<double>();
  const double square = x * x;
  if (x > 25) {
    const double z = -0.5 / square;
    const double series =
        polynomial(z, 2027025.0, 135135.0, 10395.0, 945.0, 105.0, 15.0, 3.0, 1.0, 1.0);
    return 0.5641895835477563 / x * series;
  }
  const double split = 134217729.0 * x, high = split - (split - x), low = x - high;
  const double left = ((high * high - square) + 2 * high * low) + low * low;
  const double power = td_exp(square) * td_erfc(x);
  return power + power * left;
}
TD_SPECIAL float erfcx(float x) { return float(erfcx(double(x))); }

// The inverse of the normal distribution.
template <class T>
TD_SPECIAL T ndtri(T p) {
  if (p == T(0)) return -infinity<T>();
  if (p == T(1)) return infinity<T>();
  if (!(p > T(0) && p < T(1))) return nan<T>();
  const T tail = T(0.13533528323661269189);  // e^-2
  const bool is_high = p > T(1) - tail;
  T y = is_high ? T(1) - p : p;
  if (y > tail) {
    y = y - T(0.5);
    const T z = y * y;
    const T above = polynomial(z, -59.96335010141079, 98.00107541859997, -56.67628574690703,
                               13.931260938727968, -1.2391658386738125);
    const T below = polynomial(z, 1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905,
                               -225.46268785411937, 200.26021238006066, -82.03722561683334,
                               15.90562251262117, -1.1833162112133);
    return (y + y * (z * above / below)) * T(2.50662827463100050242);
  }
  const T x = td_sqrt(T(-2) * td_log(y)), z = T(1) / x;
  T above, below;
  if (x < T(8)) {
    above = polynomial(z, 4.0554489230596245, 31.525109459989388, 57.16281922464213,
                       44.08050738932008, 14.684956192885803, 2.1866330685079025,
                       -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854);
    below = polynomial(z, 1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672,
                       15.04253856929075, 2.504649462083094, -0.14218292285478779,
                       -0.03808064076915783, -0.0009332594808954574);
  } else {
    above = polynomial(z, 3.2377489177694603, 6.915228890689842, 3.9388102529247444,
                       1.3330346081580755, 0.20148538954917908, 0.012371663481782003,
                       0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09);
    below = polynomial(z, 1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132,
                       0.21623699359449663, 0.013420400608854318, 0.00032801446468212774,
                       2.8924786474538068e-06, 6.790194080099813e-09);
  }
  const T result = (x - td_log(x) / x) - z * above / below;
  return is_high ? result : -result;
}

}  // namespace td_special
