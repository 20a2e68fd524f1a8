// Checks of the preamble, included once for each target inside a namespace that holds the preamble.
// No include guard: see td_cpu_test.cc.

inline float from_bits(uint32_t bits) { return td_from_bits(bits); }

// The greatest error in units in the last place over floats `stride` apart.
template <class F, class R>
double worst_ulp(F f, R reference, uint32_t stride) {
  double worst = 0;
  uint64_t bits = 0;
  while (bits < (1ull << 32)) {
    f32x8 x{};
    for (int l = 0; l < 8; ++l, bits += stride) x[l] = from_bits(static_cast<uint32_t>(bits));
    const f32x8 y = f(x);
    for (int l = 0; l < 8; ++l) {
      const double exact = reference(static_cast<double>(x[l]));
      const float nearest = static_cast<float>(exact);
      if (std::isnan(exact)) {
        if (!std::isnan(y[l])) return INFINITY;
      } else if (y[l] != nearest) {
        if (std::isinf(y[l]) || std::isinf(nearest)) return INFINITY;
        const float size = std::fabs(nearest);
        const double step = std::max<double>(std::nextafter(size, INFINITY) - size, 0x1p-149);
        worst = std::max(worst, std::fabs(y[l] - exact) / step);
      } else if (std::signbit(y[l]) != std::signbit(nearest)) {
        return INFINITY;
      }
    }
  }
  return worst;
}

inline void check_errors() {
  constexpr uint32_t kStride = 4093;
  // Without AVX2 these are libm's, whose tanhf is off by up to 2.2.
#ifdef __AVX2__
  constexpr double kBound = 1.02;
#else
  constexpr double kBound = 2.5;
#endif
  const auto exp = [](double x) { return std::exp(x); };
  const auto erf = [](double x) { return std::erf(x); };
  const auto tanh = [](double x) { return std::tanh(x); };
  EXPECT_LE(worst_ulp([](f32x8 x) { return td_exp(x); }, exp, kStride), kBound);
  EXPECT_LE(worst_ulp([](f32x8 x) { return td_erf(x); }, erf, kStride), kBound);
  EXPECT_LE(worst_ulp([](f32x8 x) { return td_tanh(x); }, tanh, kStride), kBound);
}

// Tails of a loop must not differ from its vectors.
inline void check_scalars_equal_lanes() {
  for (float x = -12.0f; x < 12.0f; x += 0.0173f) {
    const f32x8 v = td_set<f32x8>(x);
    ASSERT_EQ(td_bits(td_exp(x)), td_bits(td_exp(v)[3])) << x;
    ASSERT_EQ(td_bits(td_erf(x)), td_bits(td_erf(v)[3])) << x;
    ASSERT_EQ(td_bits(td_tanh(x)), td_bits(td_tanh(v)[3])) << x;
    ASSERT_EQ(td_round(x), td_round(v)[3]);
    ASSERT_EQ(td_floor(x), td_floor(v)[3]);
    ASSERT_EQ(td_sqrt(td_abs(x)), td_sqrt(td_abs(v))[3]);
  }
  EXPECT_TRUE(std::signbit(td_tanh(-0.0f)) && std::signbit(td_erf(-0.0f)));
}

inline void check_nan_wins() {
  const float nan = NAN;
  EXPECT_TRUE(std::isnan(td_max(nan, 1.0f)) && std::isnan(td_max(1.0f, nan)));
  EXPECT_TRUE(std::isnan(td_min(nan, 1.0f)) && std::isnan(td_min(1.0f, nan)));
  const f32x8 a{nan, 1, 2, -INFINITY, 0, nan, 3, 4}, b{1, nan, 3, 5, -1, nan, 2, INFINITY};
  for (int l = 0; l < 8; ++l) {
    const float most = td_max(a, b)[l], least = td_min(a, b)[l];
    if (std::isnan(a[l]) || std::isnan(b[l])) {
      EXPECT_TRUE(std::isnan(most) && std::isnan(least)) << l;
    } else {
      EXPECT_EQ(most, std::max<float>(a[l], b[l]));
      EXPECT_EQ(least, std::min<float>(a[l], b[l]));
    }
  }
}

// Every value of a half type survives; a float between two goes to the nearer one, ties to even.
template <class Half, class Half8>
void check_half() {
  float before = 0;
  uint16_t before_bits = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const float x = td_cast<float>(h);
    const auto narrow = [](float value) {
      const uint16_t scalar = td_cast<Half>(value).bits;
      EXPECT_EQ(scalar, td_cast<Half8>(td_set<f32x8>(value)).bits[5]) << value;
      return scalar;
    };
    const Half halves[8] = {h, h, h, h, h, h, h, h};
    const float lane = td_cast<f32x8>(td_load<Half8>(halves))[2];
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(lane));
      EXPECT_TRUE(std::isnan(td_cast<float>(Half{narrow(x)})));
      continue;
    }
    ASSERT_EQ(td_bits(lane), td_bits(x)) << bits;
    ASSERT_EQ(narrow(x), bits);
    if (bits != 0 && bits != 0x8000 && !std::isinf(x)) {
      const float middle = static_cast<float>((static_cast<double>(before) + x) / 2);
      ASSERT_EQ(narrow(middle), bits % 2 == 0 ? bits : before_bits) << bits;
      ASSERT_EQ(narrow(std::nextafter(middle, x)), bits);
      ASSERT_EQ(narrow(std::nextafter(middle, before)), before_bits);
    }
    before = x;
    before_bits = static_cast<uint16_t>(bits);
  }
}

inline void check_halves() {
  check_half<bf16, bf16x8>();
  check_half<f16, f16x8>();
  EXPECT_EQ(td_cast<f16>(65519.996f).bits, 0x7bff);
  EXPECT_EQ(td_cast<f16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(td_cast<f16>(-1e-8f).bits, 0x8000);
}

inline void check_masks() {
  const bool bools[8] = {true, false, false, true, true, true, false, true};
  const boolx8 m = td_load<boolx8>(bools);
  uint8_t out[9] = {9, 9, 9, 9, 9, 9, 9, 9, 9};
  td_store(reinterpret_cast<bool*>(out), td_not(m));
  for (int l = 0; l < 8; ++l) EXPECT_EQ(out[l], bools[l] ? 0 : 1);
  EXPECT_EQ(out[8], 9);
  for (int l = 0; l < 8; ++l) {
    EXPECT_EQ(td_cast<f32x8>(m)[l], bools[l] ? 1.0f : 0.0f);
    EXPECT_EQ(td_cast<i64x8>(m)[l], bools[l] ? 1 : 0);
    EXPECT_EQ(td_cast<u8x8>(m)[l], bools[l] ? 1 : 0);
    EXPECT_EQ(td_cast<boolx8>(td_cast<i16x8>(m))[l], bools[l] ? ~0u : 0u);
    EXPECT_EQ(td_select(m, td_iota<i64x8>(0, 1), td_set<i64x8>(int64_t{-1}))[l], bools[l] ? l : -1);
    EXPECT_EQ(td_select(m, td_set<i8x8>(int8_t(5)), td_set<i8x8>(int8_t(-5)))[l],
              bools[l] ? 5 : -5);
  }
  EXPECT_TRUE(td_across_max(m));
  EXPECT_FALSE(td_across_min(m));
}

inline void check_int64() {
  const i64x8 a = td_iota<i64x8>(-3, 2), b = td_set<i64x8>(int64_t{1} << 40);
  for (int l = 0; l < 8; ++l) {
    const int64_t x = -3 + 2 * l, y = int64_t{1} << 40;
    EXPECT_EQ((a * b - a)[l], x * y - x);
    EXPECT_EQ((a < td_set<i64x8>(int64_t{5}))[l], x < 5 ? ~0u : 0u);
    EXPECT_EQ((a == td_set<i64x8>(int64_t{5}))[l], x == 5 ? ~0u : 0u);
    EXPECT_EQ(td_cast<f32x8>(a)[l], static_cast<float>(x));
    EXPECT_EQ(td_cast<i64x8>(td_cast<i32x8>(a))[l], x);
    EXPECT_EQ(td_abs(a)[l], std::abs(x));
  }
  EXPECT_EQ(td_across_sum(a), 32);
  EXPECT_EQ(td_across_max(a), 11);
}

// Lane by lane in pairs: no order that loses digits one after the other.
inline void check_across() {
  const f32x8 v{1e8f, 1, -1e8f, 1, 1, 1, 1, 1};
  EXPECT_EQ(td_across_sum(v), ((1e8f + 1) + (-1e8f + 1)) + ((1.0f + 1) + (1.0f + 1)));
  EXPECT_EQ(td_across_prod(f64x4{2, 3, 4, 5}), 120.0);
}

inline void check_index_functions() {
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(mod(-7, 2), 1);
  EXPECT_EQ(floor_div(7, 2), 3);
  EXPECT_EQ(mod(-8, 2), 0);
}

inline void check_strided() {
  float table[64];
  for (int i = 0; i < 64; ++i) table[i] = static_cast<float>(i);
  const f32x8 v = td_lanes<f32x8>([&](int64_t l) { return table[7 * l]; });
  for (int l = 0; l < 8; ++l) EXPECT_EQ(v[l], 7.0f * static_cast<float>(l));
  td_store_lanes([&](int64_t l) { return &table[2 * l]; }, v + v);
  EXPECT_EQ(table[6], 42.0f);
  EXPECT_EQ(table[7], 7.0f);
}
