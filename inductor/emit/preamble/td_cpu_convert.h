// Conversions between dtypes, and what reductions end with.
//   td_cast<f32x8>(td_load<bf16x8>(in0));  td_cast<int64_t>(true) == 1
//   td_across_sum(f32x8{1, 2, 3, 4, 5, 6, 7, 8}) == 36
// Floats become half types by rounding to nearest, ties to even, as ATen's and F16C's do.

TD float td_from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
TD uint32_t td_bits(float x) { return __builtin_bit_cast(uint32_t, x); }

TD float td_widen(bf16 x) { return td_from_bits(uint32_t(x.bits) << 16); }
TD float td_widen(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
  if (rest >= 0x7c00) return td_from_bits(sign | 0x7f800000 | (rest << 13));  // infinite, NaN
  // The bits as those of a float are 2^112 too small, subnormal numbers included.
  return td_from_bits(sign | td_bits(td_from_bits(rest << 13) * 0x1p112f));
}

// Round to nearest, ties to even.
TD bf16 td_narrow(float x, bf16) {
  const uint32_t bits = td_bits(x);
  if (x != x) return {0x7fc0};
  return {uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
TD f16 td_narrow(float x, f16) {
  const uint32_t bits = td_bits(x), sign = (bits >> 16) & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return {uint16_t(sign | 0x7e00 | ((rest >> 13) & 0x1ff))};  // as F16C
  if (rest >= 0x477ff000) return {uint16_t(sign | 0x7c00)};  // rounds to 2^16 or more
  if (rest < 0x38800000) {  // below 2^-14: adding 0.5 rounds at the last subnormal bit
    return {uint16_t(sign | (td_bits(td_from_bits(rest) + 0.5f) - 0x3f000000))};
  }
  return {uint16_t(sign | ((rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13))};
}

TD f32x8 td_widen(bf16x8 x) { return (f32x8)(__builtin_convertvector(x.bits, i32x8) << 16); }
TD bf16x8 td_narrow(f32x8 x, bf16x8) {
  const boolx8 bits = (boolx8)x;
  const boolx8 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {__builtin_convertvector((x != x) ? td_set<boolx8>(0x7fc0u) * -1u : rounded, u16x8)};
}
#if defined(__F16C__)
typedef short td_v8hi __attribute__((vector_size(16)));
TD f32x8 td_widen(f16x8 x) { return (f32x8)__builtin_ia32_vcvtph2ps256((td_v8hi)x.bits); }
TD f16x8 td_narrow(f32x8 x, f16x8) { return {(u16x8)__builtin_ia32_vcvtps2ph256(x, 0)}; }
#else
TD f32x8 td_widen(f16x8 x) {
  return td_lanes<f32x8>([&](int l) { return td_widen(f16{x.bits[l]}); });
}
TD f16x8 td_narrow(f32x8 x, f16x8) {
  return td_lanes<f16x8>([&](int l) { return td_narrow(x[l], f16()); });
}
#endif
template <class S>
TD f32x4 td_widen(td_half_vector<S, u16x4> x) {
  return td_low(td_widen(td_half_vector<S, u16x8>{td_join(x.bits, x.bits)}));
}
template <class S>
TD td_half_vector<S, u16x4> td_narrow(f32x4 x, td_half_vector<S, u16x4>) {
  const u16x8 bits = td_narrow(td_join(x, x), td_half_vector<S, u16x8>()).bits;
  return {__builtin_shufflevector(bits, bits, 0, 1, 2, 3)};
}

template <class To, class From>
TD To td_cast(From x) {
  using E = typename td_type<To>::element;
  if constexpr (td_same<To, From>) {
    return x;
  } else if constexpr (td_is_half<From>) {
    return td_cast<To>(td_widen(x));
  } else if constexpr (td_is_half<To>) {
    using Wide = decltype(td_widen(To()));
    return td_narrow(td_cast<Wide>(x), To());
  } else if constexpr (td_width<To> == 1) {
    // Through int32: what the processor's conversion gives where C++ leaves it open.
    if constexpr (td_is_floating<From> && !td_same<To, bool> && sizeof(To) < 4)
      return To(int32_t(x));
    else
      return To(x);
  } else if constexpr (td_is_mask<From>) {
    return td_select(x, td_set<To>(E(1)), td_set<To>(E(0)));
  } else if constexpr (td_is_mask<To>) {
    return td_bool(x != From{});
  } else if constexpr (td_same<From, i64x8>) {
    typedef E Half __attribute__((vector_size(4 * sizeof(E))));
    return td_join(__builtin_convertvector(x.low, Half), __builtin_convertvector(x.high, Half));
  } else if constexpr (td_same<To, i64x8>) {
    return {__builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), i64x4),
            __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), i64x4)};
  } else if constexpr (td_is_floating<From> && !td_is_floating<To> && sizeof(E) < 4) {
    if constexpr (td_width<To> == 8)
      return __builtin_convertvector(__builtin_convertvector(x, i32x8), To);
    else
      return __builtin_convertvector(__builtin_convertvector(x, i32x4), To);
  } else {
    return __builtin_convertvector(x, To);
  }
}

// To Half and back.
template <class Half, class V>
TD V td_round_to(V x) {
  return td_cast<V>(td_cast<Half>(x));
}
// Of values that Half has.
template <class Half, class V>
TD V td_add_rounded(V a, V b) {
  return td_round_to<Half>(a + b);
}
template <class Half, class V>
TD V td_sub_rounded(V a, V b) {
  return td_round_to<Half>(a - b);
}
template <class Half, class V>
TD V td_mul_rounded(V a, V b) {
  return td_round_to<Half>(a * b);
}

// ---- Across lanes ----

// Pairwise: f(f(f(0,4), f(2,6)), f(f(1,5), f(3,7))).
template <class V, class F>
TD auto td_across(V v, F f) {
  if constexpr (td_width<V> == 4)
    return f(f(v[0], v[2]), f(v[1], v[3]));
  else
    return f(f(f(v[0], v[4]), f(v[2], v[6])), f(f(v[1], v[5]), f(v[3], v[7])));
}
template <class V>
TD auto td_across_sum(V v) {
  return td_across(v, [](auto a, auto b) { return decltype(a)(a + b); });
}
template <class V>
TD auto td_across_prod(V v) {
  return td_across(v, [](auto a, auto b) { return decltype(a)(a * b); });
}
template <class V>
TD auto td_across_max(V v) {
  if constexpr (td_is_mask<V>)
    return td_across(v, [](auto a, auto b) { return a | b; }) != 0;
  else
    return td_across(v, [](auto a, auto b) { return td_max(a, b); });
}
template <class V>
TD auto td_across_min(V v) {
  if constexpr (td_is_mask<V>)
    return td_across(v, [](auto a, auto b) { return a & b; }) != 0;
  else
    return td_across(v, [](auto a, auto b) { return td_min(a, b); });
}
