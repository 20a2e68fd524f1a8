// What generated C++ kernels stand on: types, memory, choice, operators. In every translation unit
// td_cpu_convert.h and td_cpu_math.h follow.
//
//   for (int64_t i0 = 0; i0 < 1024; i0 += 8)
//     td_store(out0 + i0, td_max(td_load<f32x8>(in0 + i0), td_set<f32x8>(0.0f)));
//   out0[1024] = td_max(in0[1024], 0.0f);        // the same functions serve scalars
//
// Includes nothing. GCC 12 and clang 14, -std=c++20 -fwrapv -ffp-contract=off; uses AVX2, FMA and
// F16C where the target has them and is correct without.
//  - A vector has 8 lanes, or 4 in loops that touch f64. Integers wrap.
//  - A bool in memory is a byte, 0 or 1; in a scalar it is bool, in a vector a mask: lanes 0 or ~0.
//  - f16 and bf16 are storage: they are loaded, stored, and cast to and from f32.

#define TD static inline __attribute__((always_inline, unused))

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

extern "C" {
struct TdContext {  // as in runtime/core/launcher.h
  void (*parallel_for)(int64_t count, int64_t grain,
                       void (*body)(void* argument, int64_t begin, int64_t end), void* argument);
  void* stream;
  int device;
};
}

struct td_arguments {  // what a parallel loop's body gets
  void* const* buffers;
  const int64_t* sizes;
};

// ---- Types ----

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

template <class T>
struct td_type {  // of a scalar
  static constexpr int width = 1;
  using element = T;
};
#define TD_VECTOR(name, T, lanes)                                 \
  typedef T name __attribute__((vector_size(sizeof(T) * lanes))); \
  template <>                                                     \
  struct td_type<name> {                                          \
    static constexpr int width = lanes;                           \
    using element = T;                                            \
  };
TD_VECTOR(f32x8, float, 8)
TD_VECTOR(i32x8, int32_t, 8)
TD_VECTOR(i16x8, int16_t, 8)
TD_VECTOR(i8x8, int8_t, 8)
TD_VECTOR(u8x8, uint8_t, 8)
TD_VECTOR(u16x8, uint16_t, 8)
TD_VECTOR(boolx8, uint32_t, 8)
TD_VECTOR(f64x4, double, 4)
TD_VECTOR(f32x4, float, 4)
TD_VECTOR(i64x4, int64_t, 4)
TD_VECTOR(i32x4, int32_t, 4)
TD_VECTOR(i16x4, int16_t, 4)
TD_VECTOR(i8x4, int8_t, 4)
TD_VECTOR(u8x4, uint8_t, 4)
TD_VECTOR(u16x4, uint16_t, 4)
TD_VECTOR(boolx4, uint64_t, 4)
#undef TD_VECTOR

// Two registers: compilers scalarise comparisons of vectors wider than a register.
struct i64x8 {
  i64x4 low, high;
  __attribute__((always_inline)) int64_t operator[](int l) const {
    return l < 4 ? low[l] : high[l - 4];
  }
};
template <>
struct td_type<i64x8> {
  static constexpr int width = 8;
  using element = int64_t;
};

template <class Storage, class Bits>
struct td_half_vector {  // of f16 or bf16
  Bits bits;
};
using f16x8 = td_half_vector<f16, u16x8>;
using f16x4 = td_half_vector<f16, u16x4>;
using bf16x8 = td_half_vector<bf16, u16x8>;
using bf16x4 = td_half_vector<bf16, u16x4>;

template <class V>
inline constexpr int td_width = td_type<V>::width;
template <class A, class B>
inline constexpr bool td_same = false;
template <class A>
inline constexpr bool td_same<A, A> = true;
template <class V>
inline constexpr bool td_is_mask = td_same<V, boolx8> || td_same<V, boolx4>;
template <class V>
inline constexpr bool td_is_half = false;
template <class S, class B>
inline constexpr bool td_is_half<td_half_vector<S, B>> = true;
template <>
inline constexpr bool td_is_half<f16> = true;
template <>
inline constexpr bool td_is_half<bf16> = true;
template <class V>
inline constexpr bool td_is_floating =
    td_same<typename td_type<V>::element, float> || td_same<typename td_type<V>::element, double>;

TD f32x4 td_low(f32x8 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3); }
TD f32x4 td_high(f32x8 v) { return __builtin_shufflevector(v, v, 4, 5, 6, 7); }
template <class V4>
TD auto td_join(V4 a, V4 b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

// ---- Making vectors ----

// V{f(0), f(1), ...}
template <class V, class F>
TD V td_lanes(F f) {
  if constexpr (td_is_half<V>) {
    return {td_lanes<decltype(V::bits)>([&](int l) { return f(l).bits; })};
  } else if constexpr (td_is_mask<V>) {
    using E = typename td_type<V>::element;
    if constexpr (td_width<V> == 8) {
      return V{E(-E(f(0))), E(-E(f(1))), E(-E(f(2))), E(-E(f(3))),
               E(-E(f(4))), E(-E(f(5))), E(-E(f(6))), E(-E(f(7)))};
    } else {
      return V{E(-E(f(0))), E(-E(f(1))), E(-E(f(2))), E(-E(f(3)))};
    }
  } else if constexpr (td_same<V, i64x8>) {
    return V{i64x4{f(0), f(1), f(2), f(3)}, i64x4{f(4), f(5), f(6), f(7)}};
  } else if constexpr (td_width<V> == 8) {
    return V{f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)};
  } else {
    return V{f(0), f(1), f(2), f(3)};
  }
}

template <class V, class T>
TD V td_set(T x) {
  if constexpr (td_same<V, T>) {
    return x;
  } else {
    return td_lanes<V>([&](int) { return x; });
  }
}

// first, first + step, first + 2 * step, ...
template <class V>
TD V td_iota(int64_t first, int64_t step) {
  return td_lanes<V>([&](int l) { return first + l * step; });
}

// ---- Memory ----

template <class V>
struct __attribute__((packed, may_alias)) td_unaligned {
  V value;
};

template <class V, class T>
TD V td_load(const T* p) {
  if constexpr (td_is_half<V>) {
    return {td_load<decltype(V::bits)>(&p->bits)};
  } else if constexpr (td_same<V, boolx8>) {
    return (boolx8)(__builtin_convertvector(td_load<u8x8>((const uint8_t*)p), i32x8) != 0);
  } else if constexpr (td_same<V, boolx4>) {
    return (boolx4)(__builtin_convertvector(td_load<u8x4>((const uint8_t*)p), i64x4) != 0);
  } else {
    return ((const td_unaligned<V>*)p)->value;
  }
}

template <class T, class V>
TD void td_store(T* p, V v) {
  if constexpr (td_is_half<V>) {
    td_store(&p->bits, v.bits);
  } else if constexpr (td_same<V, boolx8>) {
    td_store((uint8_t*)p, __builtin_convertvector((i32x8)(v & 1), u8x8));
  } else if constexpr (td_same<V, boolx4>) {
    td_store((uint8_t*)p, __builtin_convertvector((i64x4)(v & 1), u8x4));
  } else {
    ((td_unaligned<V>*)p)->value = v;
  }
}

// *address(l) = lane l, in order
template <class F, class V>
TD void td_store_lanes(F address, V v) {
  typename td_type<V>::element lanes[td_width<V>];
  td_store(lanes, v);
  for (int l = 0; l < td_width<V>; ++l) *address(l) = lanes[l];
}
template <class F>
TD void td_store_lanes(F address, boolx8 v) {
  for (int l = 0; l < 8; ++l) *address(l) = v[l] != 0;
}
template <class F>
TD void td_store_lanes(F address, boolx4 v) {
  for (int l = 0; l < 4; ++l) *address(l) = v[l] != 0;
}
template <class F, class S, class B>
TD void td_store_lanes(F address, td_half_vector<S, B> v) {
  for (int l = 0; l < td_width<B>; ++l) *address(l) = S{v.bits[l]};
}

// ---- Choice ----

// What a comparison gives, as the bool of its width.
template <class M>
TD auto td_bool(M m) {
  if constexpr (td_width<M> == 1 || td_is_mask<M>) {
    return m;
  } else if constexpr (td_width<M> == 8) {
    return (boolx8) __builtin_convertvector(m, i32x8);
  } else {
    return (boolx4) __builtin_convertvector(m, i64x4);
  }
}

template <class C, class V>
TD V td_select(C c, V a, V b) {
  if constexpr (td_width<C> == 1) {
    return c ? a : b;
  } else if constexpr (td_is_mask<V>) {
    return (c & a) | (~c & b);
  } else if constexpr (td_same<V, i64x8>) {
    const i32x8 m = (i32x8)c;
    // Each lane twice; g++ 12 falls over widening them where a or b is a splat.
    const i64x4 low = (i64x4)__builtin_shufflevector(m, m, 0, 0, 1, 1, 2, 2, 3, 3);
    const i64x4 high = (i64x4)__builtin_shufflevector(m, m, 4, 4, 5, 5, 6, 6, 7, 7);
    return {low ? a.low : b.low, high ? a.high : b.high};
  } else if constexpr (td_width<C> == 8) {
    return __builtin_convertvector((i32x8)c, decltype(a == b)) ? a : b;
  } else {
    return __builtin_convertvector((i64x4)c, decltype(a == b)) ? a : b;
  }
}

// ---- Operators ----

#define TD_I64X8(op) \
  TD i64x8 operator op(i64x8 a, i64x8 b) { return {a.low op b.low, a.high op b.high}; }
TD_I64X8(+)
TD_I64X8(-)
TD_I64X8(*)
TD_I64X8(&)
TD_I64X8(|)
TD_I64X8(^)
#undef TD_I64X8
#define TD_I64X8(op)                                                          \
  TD boolx8 operator op(i64x8 a, i64x8 b) {                                   \
    return (boolx8)td_join(__builtin_convertvector(a.low op b.low, i32x4),    \
                           __builtin_convertvector(a.high op b.high, i32x4)); \
  }
TD_I64X8(==)
TD_I64X8(!=)
TD_I64X8(<)
TD_I64X8(<=)
TD_I64X8(>)
TD_I64X8(>=)
#undef TD_I64X8
TD i64x8 operator-(i64x8 a) { return {-a.low, -a.high}; }

template <class V, class F>
TD V td_each(F f, V a) {
  return td_lanes<V>([&](int l) { return f(a[l]); });
}
template <class V, class F>
TD V td_each(F f, V a, V b) {
  return td_lanes<V>([&](int l) { return f(a[l], b[l]); });
}

// NaN wins.
template <class V>
TD V td_max(V a, V b) {
  return td_select(td_bool((a > b) | (a != a)), a, b);
}
template <class V>
TD V td_min(V a, V b) {
  return td_select(td_bool((a < b) | (a != a)), a, b);
}

template <class V>
TD V td_not(V a) {
  if constexpr (td_same<V, bool>) {
    return !a;
  } else if constexpr (td_same<V, i64x8>) {
    return {~a.low, ~a.high};
  } else {
    return V(~a);
  }
}

// Integers: see td_ref in ir/scalar_reference.h for what division by zero and wide shifts give.
template <class V>
TD V td_trunc_div(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_trunc_div(x, y); }, a, b);
  } else {
    return b == 0 ? V(0) : V(-1) < V(0) && b == V(-1) ? V(V(0) - a) : V(a / b);
  }
}
template <class V>
TD V td_shift_left(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_shift_left(x, y); }, a, b);
  } else {
    return b < 0 || b >= V(sizeof(V) * 8) ? V(0) : V(uint64_t(a) << b);
  }
}
template <class V>
TD V td_shift_right(V a, V b) {
  if constexpr (td_width<V> != 1) {
    return td_each([](auto x, auto y) { return td_shift_right(x, y); }, a, b);
  } else {
    constexpr int most = sizeof(V) * 8 - (V(-1) < V(0) ? 1 : 0);
    return b < 0 || b >= V(most) ? V(a < 0 ? -1 : 0) : V(a >> b);
  }
}

// Symbolic index expressions print as C with these.
TD int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }  // b > 0
TD int64_t mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }
TD int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
TD int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
