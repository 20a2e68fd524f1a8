#include "aten_bridge/symbolic/fit.h"

#include <functional>

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

const std::vector<Samples> kPoints = {{8, 5}, {13, 9}, {22, 14}, {35, 31}};
const SymExpr s0 = SymExpr::symbol({'s', 0});
const SymExpr s1 = SymExpr::symbol({'s', 1});

Samples at_points(const SymExpr& e) {
  Samples values;
  for (const Samples& point : kPoints)
    values.push_back(e.evaluate([&](Symbol s) { return point[s.index]; }));
  return values;
}

void expect_found(const SymExpr& e) {
  SizeFit fit(kPoints);
  const auto found = fit.expression(at_points(e));
  ASSERT_TRUE(found) << e.str();
  EXPECT_EQ(*found, e) << found->str() << " for " << e.str();
}

TEST(SizeFit, FindsWhatSizesAndStridesAre) {
  for (const SymExpr& e : {SymExpr(7), s0, s1, s0 * 768, s0 * 3 - 1, SymExpr(64) - s1, s0 * s1,
                           s0 * s1 * 12, s0 * s1 + 4, s0 * s1 * s1, s0 * (s1 + 1), s0 + s1,
                           s0 + s1 * 3 - 5, s0 * s0, s0 * s1 * 64 + s0, s0 * s0 * s1 * 5})
    expect_found(e);
}

TEST(SizeFit, FindsAQuotientThatThePointsDecide) {
  expect_found(floor_div(s0, 2));
  expect_found(floor_div(s0 + 1, 2));
  expect_found(floor_div(s1 - 3, 2) + 1);
}

TEST(SizeFit, BuildsOnWhatItFoundBefore) {
  SizeFit fit(kPoints);
  const SymExpr half = floor_div(s0 + 1, 2);
  ASSERT_EQ(fit.expression(at_points(half)), half);
  EXPECT_EQ(fit.expression(at_points(half * half * 3)), half * half * 3);
  EXPECT_EQ(fit.expression(at_points(half * s1)), half * s1);
}

TEST(SizeFit, HasNoneWhereThePointsLeaveItOpen) {
  SizeFit even({{8}, {12}, {20}, {32}});  // s0 / 2 rounded either way
  EXPECT_FALSE(even.expression({4, 6, 10, 16}));
}

TEST(SizeFit, TakesAQuotientForExactWhereChanceDoesNotExplainIt) {
  std::vector<Samples> points;
  Samples halves, sixths;
  for (int64_t n = 1; n <= 20; ++n) {
    points.push_back({6 * n, n % 7});
    halves.push_back(3 * n);
    sixths.push_back(n);
  }
  SizeFit fit(points);
  EXPECT_EQ(fit.expression(halves), floor_div(s0, 2));
  for (int64_t& half : halves) half += 7;
  EXPECT_EQ(fit.expression(halves), floor_div(s0, 2) + 7);
  points.resize(8), sixths.resize(8);
  EXPECT_EQ(SizeFit(points).expression(sixths), floor_div(s0, 6));
}

TEST(SizeFit, HasNoneForWhatNothingExplains) {
  SizeFit fit(kPoints);
  EXPECT_FALSE(fit.expression({1, 7, 3, 1000003}));
}

}  // namespace
}  // namespace aten_bridge
