// Conversions between dtypes.
//   td_cast<float>(in0[i]);  td_cast<int64_t>(true) == 1;  td_round_to<bf16>(1.001f) == 1
// Floats become half types by rounding to nearest, ties to even.

template <class To, class From>
TD To td_cast(From x) {
  if constexpr (td_same<To, From>) {
    return x;
  } else if constexpr (td_same<From, f16>) {
    return td_cast<To>(td_widen_f16(x.bits));
  } else if constexpr (td_same<From, bf16>) {
    return td_cast<To>(__builtin_bit_cast(float, uint32_t(x.bits) << 16));
  } else if constexpr (td_same<To, f16>) {
    return {td_narrow_f16(td_cast<float>(x))};
  } else if constexpr (td_same<To, bf16>) {
    return {td_narrow_bf16(td_cast<float>(x))};
  } else if constexpr (td_same<To, uint8_t> && td_is_floating<From>) {
    return To(int64_t(x));  // so c10::convert does; kernels of a CPU go through int32
  } else if constexpr (!td_same<To, bool> && sizeof(To) < 4 && td_is_floating<From>) {
    return To(int32_t(x));
  } else {
    return To(x);
  }
}

// td_cast<float>(td_cast<Half>(x)), as one step.
template <class Half>
TD float td_round_to(float x) {
  if constexpr (td_same<Half, bf16>)
    return td_round_bf16(x);
  else
    return td_cast<float>(td_cast<Half>(x));
}

// td_round_to<Half>(a + b) and so on, where a and b are values that Half has.
template <class Half>
TD float td_add_rounded(float a, float b) {
  if constexpr (td_same<Half, bf16>)
    return td_add_bf16(a, b);
  else
    return td_round_to<Half>(a + b);
}
template <class Half>
TD float td_sub_rounded(float a, float b) {
  return td_add_rounded<Half>(a, -b);
}
template <class Half>
TD float td_mul_rounded(float a, float b) {
  if constexpr (td_same<Half, bf16>)
    return td_mul_bf16(a, b);
  else
    return td_round_to<Half>(a * b);
}
