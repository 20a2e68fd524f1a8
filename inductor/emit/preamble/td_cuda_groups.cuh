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
