// What devices before sm_80 have no instructions for, from bits, behind td_cuda_device.cuh: the
// same functions with the same results.
//   td_round_bf16(1.001f) == 1
#if __CUDA_ARCH__ < 800

TD unsigned short td_narrow_bf16(float x) {
  if (x != x) return 0x7fff;
  const unsigned bits = unsigned(__float_as_int(x));
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // ties to even
}
TD float td_round_bf16(float x) { return __int_as_float(int(unsigned(td_narrow_bf16(x)) << 16)); }
TD float td_add_bf16(float a, float b) { return td_round_bf16(a + b); }
TD float td_mul_bf16(float a, float b) { return td_round_bf16(a * b); }

// Of equal ones, which may be zeros, the bits that a sign makes greater or lesser.
TD float td_max_nan(float a, float b) {
  if (a != a || b != b) return __int_as_float(0x7fffffff);
  if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));
  return a > b ? a : b;
}
TD float td_min_nan(float a, float b) {
  if (a != a || b != b) return __int_as_float(0x7fffffff);
  if (a == b) return __int_as_float(__float_as_int(a) | __float_as_int(b));
  return a < b ? a : b;
}

#endif
