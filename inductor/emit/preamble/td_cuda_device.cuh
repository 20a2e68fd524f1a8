// What kernels ask of the device itself. The rest of the preamble stands on these names and on
// CUDA's math functions alone, so that whoever gives them otherwise can run kernels elsewhere.
//
//   const int row = td_block() * 8 + td_thread() / 32;
//   n += td_shuffle_xor<32>(n, 16);
//
// sm_75 and newer (td_cuda_turing.cuh gives what sm_80 brought); 1-D grids of 1-D blocks.

#pragma nv_diag_suppress 177  // a kernel uses few of these functions
#define TD static __device__ __forceinline__

// Literals are written with GCC's names, which NVRTC does not have.
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000ll)

// ---- Threads ----

TD int td_block() { return int(blockIdx.x); }
TD int td_thread() { return int(threadIdx.x); }
TD void td_sync_block() { __syncthreads(); }

// The LANES threads of a warp that this one is among, LANES a power of two: groups of a warp may go
// different ways.
template <int LANES>
TD unsigned td_lanes_around() {
  if constexpr (LANES == 32) return 0xffffffffu;
  return ((1u << (LANES % 32)) - 1) << (td_thread() % 32 / LANES * LANES);
}
template <int LANES>
TD void td_sync_lanes() {
  __syncwarp(td_lanes_around<LANES>());
}
// The value of the lane whose number differs in the bits of mask; all LANES take part.
template <int LANES, class T>
TD T td_shuffle_xor(T x, int mask) {
  return __shfl_xor_sync(td_lanes_around<LANES>(), x, mask);
}

// ---- Half types, as bits ----

TD float td_widen_f16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
// Round to nearest, ties to even.
TD unsigned short td_narrow_f16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#if __CUDA_ARCH__ >= 800
TD unsigned short td_narrow_bf16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
// Narrowed and widened again. A bf16 is a float's upper half, and there the conversion of two
// floats puts its first one: one fast instruction. (That of one float alone has an eighth of its
// rate, unless the compiler finds another one beside it to store with it.)
TD float td_round_bf16(float x) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.0f));
  return __int_as_float(int(bits));
}
// Sum and product, rounded to bf16, of floats that are bf16s: the pairs' lower halves are +0 and
// stay so. Bits are those of td_round_bf16(a + b) and td_round_bf16(a * b): a float has more than
// twice a bf16's digits, so that rounding to float first changes nothing.
TD float td_add_bf16(float a, float b) {
  unsigned bits;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(bits)
      : "r"(__float_as_int(a)), "r"(0x3f803f80), "r"(__float_as_int(b)));
  return __int_as_float(int(bits));
}
TD float td_mul_bf16(float a, float b) {
  unsigned bits;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(bits)
      : "r"(__float_as_int(a)), "r"(__float_as_int(b)), "r"(0x80008000));
  return __int_as_float(int(bits));
}
#endif

// ---- Near values ----

// 2^x and 1 / x within 2 units in the last place, where no subnormal number is involved.
TD float td_exp2_near(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
TD float td_reciprocal_near(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// Sine and cosine of -7 to 7 within 2^-20: those of CUDA's __sincosf.
TD float td_sin_near(float x) {
  float y;
  asm("sin.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
TD float td_cos_near(float x) {
  float y;
  asm("cos.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- Greater and lesser ----

// NaN wins; +0 is greater than -0, so that a and b may be swapped.
#if __CUDA_ARCH__ >= 800
TD float td_max_nan(float a, float b) {
  float x;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
}
TD float td_min_nan(float a, float b) {
  float x;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
}
#endif
TD double td_max_nan(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }
TD double td_min_nan(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }

// ---- Memory ----

// p, which is a multiple of BYTES. (Told so by __builtin_assume_aligned, NVRTC forgets that p is
// __restrict__ and gives up loads through the read-only cache.)
template <int BYTES, class T>
TD T* td_aligned(T* p) {
  return p;
}
