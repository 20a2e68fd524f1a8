// What generated CUDA kernels stand on: types, memory, choice, operators. In every translation unit
// td_cuda_device.cuh comes first; td_cuda_convert.cuh, td_cuda_math.cuh and td_cuda_groups.cuh
// follow.
//
//   const int i = 4 * (td_block() * 256 + td_thread());
//   td_vec<float, 4> x = td_load<4>(in0 + i);                 // one access of 16 bytes
//   for (int l = 0; l < 4; ++l) x[l] = td_max(x[l], 0.0f);
//   td_store(out0 + i, x);
//
// Includes nothing. NVRTC and nvcc, -std=c++20 -fmad=false. Semantics are td_ref's
// (ir/scalar_reference.h), that is ATen's, with the accuracy of CUDA's math library; where ATen
// computes otherwise on CUDA than on a CPU, a comment says so and CUDA's way is taken.
//  - Signed overflow is undefined here, and NVRTC uses that. Index arithmetic, which is proven not
//    to overflow, is written with operators; values of kernels wrap, through td_add and its like.
//  - A bool in memory is a byte, 0 or 1.
//  - f16 and bf16 are storage: they are loaded, stored, and cast to and from float.

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;

// ---- Types ----

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <class A, class B>
inline constexpr bool td_same = false;
template <class A>
inline constexpr bool td_same<A, A> = true;
template <class T>
inline constexpr bool td_is_half = td_same<T, f16> || td_same<T, bf16>;
template <class T>
inline constexpr bool td_is_floating = td_same<T, float> || td_same<T, double>;

// What integers are computed in where they wrap.
template <int SIZE>
struct td_unsigned_of {
  using type = uint32_t;
};
template <>
struct td_unsigned_of<8> {
  using type = uint64_t;
};
template <class T>
using td_unsigned = typename td_unsigned_of<sizeof(T)>::type;

template <int A, int B>
inline constexpr int td_least = A < B ? A : B;

// N values, N a power of two, that lie in memory as an array does.
template <class T, int N>
struct alignas(td_least<16, N* int(sizeof(T))>) td_vec {
  static_assert((N & (N - 1)) == 0);
  T lanes[N];
  __device__ __forceinline__ T& operator[](int l) { return lanes[l]; }
  __device__ __forceinline__ const T& operator[](int l) const { return lanes[l]; }
};

// ---- Memory ----

// How many elements one access of at most 16 bytes takes.
template <class T, int N>
inline constexpr int td_access = td_least<N, 16 / int(sizeof(T))>;

// In as few accesses as there can be; p is aligned for them.
template <int N, class T>
TD td_vec<T, N> td_load(const T* p) {
  constexpr int kStep = td_access<T, N>;
  p = td_aligned<kStep * sizeof(T)>(p);
  td_vec<T, N> v;
#pragma unroll
  for (int first = 0; first < N; first += kStep) {
    const td_vec<T, kStep> part = *(const td_vec<T, kStep>*)(p + first);
#pragma unroll
    for (int l = 0; l < kStep; ++l) v[first + l] = part[l];
  }
  return v;
}

template <class T, int N>
TD void td_store(T* p, td_vec<T, N> v) {
  constexpr int kStep = td_access<T, N>;
  p = td_aligned<kStep * sizeof(T)>(p);
#pragma unroll
  for (int first = 0; first < N; first += kStep) {
    td_vec<T, kStep> part;
#pragma unroll
    for (int l = 0; l < kStep; ++l) part[l] = v[first + l];
    *(td_vec<T, kStep>*)(p + first) = part;
  }
}

// ---- Choice ----

template <class T>
TD T td_select(bool c, T a, T b) {
  return c ? a : b;
}

// NaN wins. Of two zeros +0 is the greater, whichever comes first.
template <class T>
TD T td_max(T a, T b) {
  if constexpr (td_is_floating<T>)
    return td_max_nan(a, b);
  else
    return a > b ? a : b;
}
template <class T>
TD T td_min(T a, T b) {
  if constexpr (td_is_floating<T>)
    return td_min_nan(a, b);
  else
    return a < b ? a : b;
}

// ---- Operators ----

#define TD_WRAPPING(name, op)                           \
  template <class T>                                    \
  TD T td_##name(T a, T b) {                            \
    if constexpr (td_is_floating<T>)                    \
      return a op b;                                    \
    else                                                \
      return T(td_unsigned<T>(a) op td_unsigned<T>(b)); \
  }
TD_WRAPPING(add, +)
TD_WRAPPING(sub, -)
TD_WRAPPING(mul, *)
#undef TD_WRAPPING
template <class T>
TD T td_neg(T a) {
  if constexpr (td_is_floating<T>)
    return -a;
  else
    return td_sub(T(0), a);
}

template <class T>
TD T td_not(T a) {
  if constexpr (td_same<T, bool>)
    return !a;
  else
    return T(~a);
}

// Integers: see td_ref for what division by zero and wide shifts give.
template <class T>
TD T td_trunc_div(T a, T b) {
  if (b == 0) return T(0);
  if (T(-1) < T(0) && b == T(-1)) return td_neg(a);  // the least integer has no negative: it wraps
  return T(a / b);
}
template <class T>
TD T td_shift_left(T a, T b) {
  return b < 0 || b >= T(sizeof(T) * 8) ? T(0) : T(td_unsigned<T>(a) << b);
}
template <class T>
TD T td_shift_right(T a, T b) {
  constexpr int kMost = sizeof(T) * 8 - (T(-1) < T(0) ? 1 : 0);
  return b < 0 || b >= T(kMost) ? T(a < 0 ? -1 : 0) : T(a >> b);
}

// Symbolic index expressions print as C with these, on int and int64_t.
template <class A, class B>
TD auto floor_div(A a, B b) {  // b > 0
  return a / b - (a % b < 0);
}
template <class A, class B>
TD auto mod(A a, B b) {
  return a % b + (a % b < 0 ? b : 0);
}
template <class A, class B>
TD auto min(A a, B b) {
  return a < b ? a : b;
}
template <class A, class B>
TD auto max(A a, B b) {
  return a > b ? a : b;
}
