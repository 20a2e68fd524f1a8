// What threads of a block work out together.
//
//   const float total = td_across_sum<32>(x);      // of a warp; every thread gets it
//   const float most = td_across_max<256>(x);      // of a block of 256
//   td_between_sum<32, 8>(acc);                    // acc[n] over 8 warps; the first warp gets it
//
// All threads of the group take part. The order of a sum is fixed, and all threads get the same
// bits. Calls may follow each other and stand in loops.

struct td_op_sum {
  template <class T>
  TD T of(T a, T b) {
    return td_add(a, b);
  }
};
struct td_op_prod {
  template <class T>
  TD T of(T a, T b) {
    return td_mul(a, b);
  }
};
struct td_op_max {
  template <class T>
  TD T of(T a, T b) {
    return td_max(a, b);
  }
};
struct td_op_min {
  template <class T>
  TD T of(T a, T b) {
    return td_min(a, b);
  }
};

// ---- An extremum, and what follows it while it grows ----

// The greatest x so far, and the sum of exp(x - most).
template <class T>
struct td_exponentials {
  T most, sum;
};
// An extremum so far, and where it was first.
template <class T>
struct td_place {
  T most;
  int64_t place;
};

inline constexpr int64_t td_no_place = 0x7fffffffffffffff;

// What exponents are counted from. Where there was but -infinity, any number makes them exp(-inf).
template <class T>
TD T td_exponent_base(T most) {
  return most == -T(__builtin_inff()) ? T(0) : most;
}
// e^x of x <= 0, within 2^-22 and |x| 2^-24 times as much: little beside the e^0 of the same sum.
TD float td_exp_below(float x) { return td_exp2_near(x * 0x1.715476p+0f); }
TD double td_exp_below(double x) { return td_exp(x); }

struct td_op_exponentials {
  template <class T>
  TD td_exponentials<T> of(td_exponentials<T> a, td_exponentials<T> b) {
    const T most = td_max(a.most, b.most), base = td_exponent_base(most);
    return {most, a.sum * td_exp_below(a.most - base) + b.sum * td_exp_below(b.most - base)};
  }
};
template <class T>
TD td_exponentials<T> td_with_exponentials(td_exponentials<T> acc, T x) {
  const T most = td_max(acc.most, x);
  const T lesser = td_exp_below(td_min(acc.most, x) - td_exponent_base(most));
  return {most, x > acc.most ? acc.sum * lesser + T(1) : acc.sum + lesser};
}
template <class T, int N>
TD td_exponentials<T> td_with_exponentials(td_exponentials<T> acc, td_vec<T, N> x) {
  T most = acc.most;
#pragma unroll
  for (int l = 0; l < N; ++l) most = td_max(most, x[l]);
  const T base = td_exponent_base(most);
  T sum = acc.sum * td_exp_below(acc.most - base);
#pragma unroll
  for (int l = 0; l < N; ++l) sum = sum + td_exp_below(x[l] - base);
  return {most, sum};
}
// NaN where the greatest x is no number: there x - most is NaN.
template <class T>
TD T td_total(td_exponentials<T> acc) {
  return acc.sum + (acc.most - acc.most);
}

template <bool GREATEST, class T>
TD td_place<T> td_first(td_place<T> a, td_place<T> b) {
  const bool a_is_nan = a.most != a.most, b_is_nan = b.most != b.most;
  const bool are_equal = a.most == b.most || (a_is_nan && b_is_nan);
  const bool is_b = !a_is_nan && (b_is_nan || (GREATEST ? b.most > a.most : b.most < a.most));
  const int64_t place = are_equal ? td_min(a.place, b.place) : is_b ? b.place : a.place;
  return {GREATEST ? td_max(a.most, b.most) : td_min(a.most, b.most), place};
}
struct td_op_first_max {
  template <class T>
  TD td_place<T> of(td_place<T> a, td_place<T> b) {
    return td_first<true>(a, b);
  }
};
struct td_op_first_min {
  template <class T>
  TD td_place<T> of(td_place<T> a, td_place<T> b) {
    return td_first<false>(a, b);
  }
};
template <class T>
TD td_place<T> td_with_first_max(td_place<T> acc, T x, int64_t place) {
  return td_first<true>(acc, td_place<T>{x, place});
}
template <class T>
TD td_place<T> td_with_first_min(td_place<T> acc, T x, int64_t place) {
  return td_first<false>(acc, td_place<T>{x, place});
}

// ---- Meeting ----

// A group is a thread, 2, 4, 8 or 16 of a warp, a warp, or the whole block.
template <int LANES>
TD void td_sync() {
  static_assert(LANES <= 32 ? 32 % LANES == 0 : LANES <= 1024 && LANES % 32 == 0);
  if constexpr (LANES > 32)
    td_sync_block();
  else if constexpr (LANES > 1)
    td_sync_lanes<LANES>();
}

// The block's scratch memory: the same for all that ask for as much.
template <int BYTES>
TD void* td_scratch() {
  alignas(16) __shared__ unsigned char bytes[BYTES];
  return bytes;
}

template <int LANES, class T>
TD T td_exchange(T x, int mask) {
  if constexpr (sizeof(T) == 8) {
    using Bits = unsigned long long;
    return __builtin_bit_cast(T, td_shuffle_xor<LANES>(__builtin_bit_cast(Bits, x), mask));
  } else if constexpr (td_same<T, float>) {
    return __builtin_bit_cast(T, td_shuffle_xor<LANES>(__builtin_bit_cast(unsigned, x), mask));
  } else {
    return T(td_shuffle_xor<LANES>(unsigned(x), mask));
  }
}

// ---- Across the LANES consecutive threads of a group ----

// In a warp both sides of an exchange compute the same, since every operator is commutative.
template <int LANES, class Op, class T>
TD T td_across(T x) {
  constexpr int kInWarp = LANES < 32 ? LANES : 32;
#pragma unroll
  for (int mask = kInWarp / 2; mask > 0; mask /= 2) x = Op::of(x, td_exchange<kInWarp>(x, mask));
  if constexpr (LANES > 32) {
    constexpr int kWarps = LANES / 32;
    T* const parts = (T*)td_scratch<kWarps * sizeof(T)>();
    if (td_thread() % 32 == 0) parts[td_thread() / 32] = x;
    td_sync<LANES>();
    x = parts[0];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) x = Op::of(x, parts[w]);
    td_sync<LANES>();  // all have read before anyone writes again
  }
  return x;
}

// ---- Between the GROUPS groups of a block, element by element ----

// The upper half of the groups hands over to the lower half, until one is left; its acc is valid.
template <int LANES, int GROUPS, class Op, class T, int N>
TD void td_between(T (&acc)[N]) {
  static_assert(LANES * GROUPS <= 1024);
  if constexpr (GROUPS > 1) {
    constexpr int kSenders = GROUPS / 2 * LANES, kRoom = 16384 / int(sizeof(T)) / kSenders;
    constexpr int kStep = td_least<N, kRoom>;  // elements at a time
    T* const parts = (T*)td_scratch<kStep * kSenders * sizeof(T)>();
    const int thread = td_thread();
#pragma unroll
    for (int first = 0; first < N; first += kStep) {
#pragma unroll
      for (int groups = GROUPS; groups > 1; groups = (groups + 1) / 2) {
        const int kept = (groups + 1) / 2 * LANES, sent = groups * LANES - kept;
#pragma unroll
        for (int n = 0; n < kStep; ++n) {
          if (first + n < N && thread >= kept && thread < kept + sent)
            parts[n * kSenders + thread - kept] = acc[first + n];
        }
        td_sync_block();
#pragma unroll
        for (int n = 0; n < kStep; ++n) {
          if (first + n < N && thread < sent)
            acc[first + n] = Op::of(acc[first + n], parts[n * kSenders + thread]);
        }
        td_sync_block();
      }
    }
  }
}

#define TD_GROUPS(name)                            \
  template <int LANES, class T>                    \
  TD T td_across_##name(T x) {                     \
    return td_across<LANES, td_op_##name>(x);      \
  }                                                \
  template <int LANES, int GROUPS, class T, int N> \
  TD void td_between_##name(T(&acc)[N]) {          \
    td_between<LANES, GROUPS, td_op_##name>(acc);  \
  }
TD_GROUPS(sum)
TD_GROUPS(prod)
TD_GROUPS(max)
TD_GROUPS(min)
#undef TD_GROUPS

// Of an extremum and what follows it: first the one, then what the other ones are beside it.
template <int LANES, class T>
TD td_exponentials<T> td_across_exponentials(td_exponentials<T> x) {
  const T most = td_across_max<LANES>(x.most);
  return {most, td_across_sum<LANES>(x.sum * td_exp_below(x.most - td_exponent_base(most)))};
}
template <int LANES, class T>
TD td_place<T> td_across_place(td_place<T> x, T most) {
  const bool has_it = x.most == most || (x.most != x.most && most != most);
  return {most, td_across_min<LANES>(has_it ? x.place : td_no_place)};
}
template <int LANES, class T>
TD td_place<T> td_across_first_max(td_place<T> x) {
  return td_across_place<LANES>(x, td_across_max<LANES>(x.most));
}
template <int LANES, class T>
TD td_place<T> td_across_first_min(td_place<T> x) {
  return td_across_place<LANES>(x, td_across_min<LANES>(x.most));
}

#define TD_PAIRS(name)                             \
  template <int LANES, int GROUPS, class T, int N> \
  TD void td_between_##name(T(&acc)[N]) {          \
    td_between<LANES, GROUPS, td_op_##name>(acc);  \
  }
TD_PAIRS(exponentials)
TD_PAIRS(first_max)
TD_PAIRS(first_min)
#undef TD_PAIRS
