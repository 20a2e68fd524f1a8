// What the preamble gives GPUs before sm_80 in place of instructions, on a host.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "inductor/ir/scalar_table.h"

namespace inductor {
namespace {

#define __CUDA_ARCH__ 750
#define TD inline
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
#include "inductor/emit/preamble/td_cuda_turing.cuh"
#undef TD
#undef __CUDA_ARCH__

// Ties, neighbours of ties, both zeros, subnormal numbers, what rounds to infinity.
std::vector<float> numbers() {
  std::vector<float> all;
  for (const uint32_t high : {0u, 1u, 0x7fu, 0x80u, 0x3f7fu, 0x3f80u, 0x3f81u, 0x7f7fu, 0x7f80u})
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      for (const uint32_t sign : {0u, 0x80000000u})
        if (const float x = std::bit_cast<float>(sign | high << 16 | low); x == x) all.push_back(x);
  return all;
}

float to_bf16(double x) {
  return static_cast<float>(ScalarValue::of(DType::kBFloat16, x).floating);
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

TEST(Turing, RoundsToBfloat16AsTheInstructionsDo) {
  for (const float x : numbers()) {
    EXPECT_TRUE(same(td_round_bf16(x), to_bf16(x))) << x;
    EXPECT_EQ(td_narrow_bf16(x), std::bit_cast<uint32_t>(to_bf16(x)) >> 16) << x;
    for (const float y : numbers()) {
      const float a = to_bf16(x), b = to_bf16(y);
      EXPECT_TRUE(same(td_add_bf16(a, b), to_bf16(a + b))) << a << " + " << b;
      EXPECT_TRUE(same(td_mul_bf16(a, b), to_bf16(a * b))) << a << " * " << b;
    }
  }
  EXPECT_EQ(td_narrow_bf16(std::numeric_limits<float>::quiet_NaN()), 0x7fff);
}

TEST(Turing, ExtremaKeepNanAndTellZerosApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : numbers()) {
    EXPECT_TRUE(std::isnan(td_max_nan(x, nan)) && std::isnan(td_max_nan(nan, x)));
    EXPECT_TRUE(std::isnan(td_min_nan(x, nan)) && std::isnan(td_min_nan(nan, x)));
    for (const float y : numbers()) {
      if (x == y) continue;
      EXPECT_EQ(td_max_nan(x, y), x > y ? x : y);
      EXPECT_EQ(td_min_nan(x, y), x < y ? x : y);
    }
  }
  EXPECT_FALSE(std::signbit(td_max_nan(-0.0f, 0.0f)) || std::signbit(td_max_nan(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(td_min_nan(-0.0f, 0.0f)) && std::signbit(td_min_nan(0.0f, -0.0f)));
}

}  // namespace
}  // namespace inductor
