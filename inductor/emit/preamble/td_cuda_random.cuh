// Random numbers of neighbours, behind td_random.h: those that one call gives, for N elements from
// `first` on. `place` is the first one's, and the first of its call.
//   td_vec<int64_t, 8> v;
//   for (int l0 = 0; l0 < 8; l0 += 4) td_philox_row<4>(v, l0, seed, calls, place + l0);

template <int N, int W>
TD void td_philox_row(td_vec<int64_t, W>& v, int first, int64_t seed, int64_t calls,
                      int64_t place) {
  static_assert(N == 2 || N == 4);
  const td_random::words c =
      td_random::philox_call(uint64_t(seed), uint64_t(calls), uint64_t(place) >> 2);
  v[first] = c.x;
  v[first + 1] = c.y;
  if constexpr (N == 4) {
    v[first + 2] = c.z;
    v[first + 3] = c.w;
  }
}
