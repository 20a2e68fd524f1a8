#include "aten_bridge/symbolic/bounds.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

const SymExpr i0 = SymExpr::symbol({'i', 0});
const SymExpr i1 = SymExpr::symbol({'i', 1});

// i0 in [0, 7], i1 in [-3, 15], everything else unbounded.
Bounds of(Symbol s) {
  if (s == Symbol{'i', 0}) return {0, 7};
  if (s == Symbol{'i', 1}) return {-3, 15};
  return {};
}

TEST(Bounds, OfASum) {
  EXPECT_EQ(bounds(i0 * 16 + i1, of), (Bounds{-3, 127}));
  EXPECT_EQ(bounds(i0 * -2 + 1, of), (Bounds{-13, 1}));
  EXPECT_EQ(bounds(5, of), (Bounds{5, 5}));
}

TEST(Bounds, UnboundedStaysUnbounded) {
  const SymExpr s0 = SymExpr::symbol({'s', 0});
  EXPECT_EQ(bounds(s0 * -2 + i0, of), Bounds{});
  EXPECT_EQ(bounds(mod(s0, 8), of), (Bounds{0, 7}));
  EXPECT_EQ(bounds(max(s0, 1), of), (Bounds{1, Bounds{}.high}));
  EXPECT_EQ(bounds(floor_div(max(s0, 1), 4), of), (Bounds{0, Bounds{}.high}));
}

TEST(Bounds, OfAModWithinOnePeriodIsExact) {
  EXPECT_EQ(bounds(mod(i0, 8), of), (Bounds{0, 7}));
  EXPECT_EQ(bounds(mod(i0 + 17, 25), of), (Bounds{17, 24}));
  EXPECT_EQ(bounds(mod(i0, 100), of), (Bounds{0, 7}));
}

TEST(Bounds, WhatDoesNotFitIsUnbounded) {
  const SymExpr big = i0 * (int64_t{1} << 62);
  EXPECT_EQ(bounds(big, of), (Bounds{0, Bounds{}.high}));
}

TEST(Bounds, KnowInt32) {
  EXPECT_TRUE(fits_int32({0, 2147483647}));
  EXPECT_FALSE(fits_int32({0, 2147483648}));
  EXPECT_FALSE(fits_int32({-2147483649, 0}));
  EXPECT_FALSE(fits_int32({}));
}

TEST(Bounds, DecideWhatTheyLeaveNoChoiceOf) {
  EXPECT_EQ(decide(max(min(i0, 7), 0) * 96 + i1, of), i0 * 96 + i1);
  EXPECT_EQ(decide(min(i0, 6), of), min(i0, 6));
  EXPECT_EQ(decide(floor_div(i0 + 16, 8), of), SymExpr(2));
  EXPECT_EQ(decide(mod(i0 + 16, 8), of), i0);
  EXPECT_EQ(decide(mod(i0 + 17, 8), of), mod(i0 + 1, 8));
  EXPECT_EQ(decide(floor_div(max(i1, -3) + 3, 19), of), SymExpr(0));
  EXPECT_EQ(decide(mod(i1, 4), of), mod(i1, 4));
}

TEST(Bounds, HoldEveryValue) {
  const SymExpr samples[] = {
      floor_div(i1, 4),          mod(i1, 4),
      floor_div(i0 * 3 - i1, 5), mod(i0 * 3 + i1, 7) * i1,
      min(i0, i1) * max(i0, i1), floor_div(i1, max(i0, 1)),
      mod(i1 * i1 + 2, i0 + 1),  i0 * i0 - i1 * 3 + mod(floor_div(i1, 2), 3),
  };
  for (const SymExpr& e : samples) {
    const Bounds b = bounds(e, of);
    for (int64_t x = 0; x <= 7; ++x) {
      for (int64_t y = -3; y <= 15; ++y) {
        const int64_t value = e.evaluate([&](Symbol s) { return s.index == 0 ? x : y; });
        EXPECT_LE(b.low, value) << e.str() << " at " << x << ", " << y;
        EXPECT_GE(b.high, value) << e.str() << " at " << x << ", " << y;
      }
    }
  }
}

}  // namespace
}  // namespace aten_bridge
