#include "inductor/ir/scalar_table.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace inductor {
namespace {

constexpr DType kDtypes[] = {DType::kUInt8, DType::kInt8,    DType::kInt16,   DType::kInt32,
                             DType::kInt64, DType::kFloat32, DType::kFloat64, DType::kBool};

ScalarValue value(DType dtype, double v) {
  return is_floating(dtype) ? ScalarValue::of(dtype, v)
                            : ScalarValue::of_integer(dtype, static_cast<int64_t>(v));
}

double number(const ScalarValue& v) {
  return is_floating(v.dtype) ? v.floating : static_cast<double>(v.integer);
}

double apply(ScalarOp op, DType dtype, double a, double b) {
  return number(evaluate(op, std::vector<ScalarValue>{value(dtype, a), value(dtype, b)}));
}

TEST(ScalarTable, EveryOperatorEvaluatesOnItsWholeDomain) {
  for (const ScalarOpRow& r : scalar_ops())
    for (DType dtype : kDtypes) {
      if (!is_defined_on(r, dtype)) continue;
      std::vector<ScalarValue> args(r.arity, value(dtype, 1));
      if (r.op == ScalarOp::select) args[0] = value(DType::kBool, 1);
      const ScalarValue result = evaluate(r.op, args);
      EXPECT_EQ(result.dtype, r.result == ScalarResult::kBool ? DType::kBool : dtype) << r.name;
    }
}

TEST(ScalarTable, NamesAreFoundAgain) {
  for (const ScalarOpRow& r : scalar_ops()) EXPECT_EQ(parse_scalar_op(r.name), r.op);
  EXPECT_FALSE(parse_scalar_op("load").has_value());
}

TEST(ScalarTable, SpellingsNameEveryArgumentAndNoOther) {
  for (const ScalarOpRow& r : scalar_ops())
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(r.spelling.find("$" + std::to_string(i)) != std::string_view::npos, i < r.arity)
          << r.name;
}

TEST(ScalarTable, IntegersWrap) {
  EXPECT_EQ(apply(ScalarOp::add, DType::kInt8, 127, 1), -128);
  EXPECT_EQ(apply(ScalarOp::mul, DType::kUInt8, 16, 17), 16);
  EXPECT_EQ(evaluate(ScalarOp::neg, std::vector{value(DType::kInt8, -128)}).integer, -128);
  EXPECT_EQ(apply(ScalarOp::trunc_div, DType::kInt32, INT32_MIN, -1), INT32_MIN);
}

TEST(ScalarTable, DivisionsDifferInHowTheyRound) {
  EXPECT_EQ(apply(ScalarOp::trunc_div, DType::kInt64, -7, 2), -3);
  EXPECT_EQ(apply(ScalarOp::floor_div, DType::kInt64, -7, 2), -4);
  EXPECT_EQ(apply(ScalarOp::remainder, DType::kInt64, -7, 2), 1);
  EXPECT_EQ(apply(ScalarOp::fmod, DType::kInt64, -7, 2), -1);
  EXPECT_EQ(apply(ScalarOp::floor_div, DType::kFloat32, -7, 2), -4);
  EXPECT_EQ(apply(ScalarOp::remainder, DType::kFloat32, -7, 2), 1);
  EXPECT_EQ(apply(ScalarOp::trunc_div, DType::kInt64, 7, 0), 0);
}

TEST(ScalarTable, NanWinsInMaximumAndMinimum) {
  const double nan = std::nan("");
  for (ScalarOp op : {ScalarOp::maximum, ScalarOp::minimum}) {
    EXPECT_TRUE(std::isnan(apply(op, DType::kFloat32, nan, 1)));
    EXPECT_TRUE(std::isnan(apply(op, DType::kFloat32, 1, nan)));
  }
}

TEST(ScalarTable, RoundIsHalfToEven) {
  EXPECT_EQ(evaluate(ScalarOp::round, std::vector{value(DType::kFloat32, 2.5)}).floating, 2);
  EXPECT_EQ(evaluate(ScalarOp::round, std::vector{value(DType::kFloat32, 3.5)}).floating, 4);
}

TEST(ScalarTable, ErfinvInvertsErf) {
  for (double x : {-2.5, -0.9, -0.1, 0.0, 0.3, 1.7}) {
    const double y = evaluate(ScalarOp::erf, std::vector{value(DType::kFloat64, x)}).floating;
    EXPECT_NEAR(evaluate(ScalarOp::erfinv, std::vector{value(DType::kFloat64, y)}).floating, x,
                1e-12);
  }
}

// There erf is 1 in every digit but the last ones; erfc tells.
TEST(ScalarTable, ErfinvIsExactNearOne) {
  for (double rest : {1e-3, 1e-6, 1e-9, 1e-13, 0x1p-53}) {
    const auto y = value(DType::kFloat64, 1 - rest);
    const auto x = evaluate(ScalarOp::erfinv, std::vector{y});
    EXPECT_NEAR(evaluate(ScalarOp::erfc, std::vector{x}).floating / (1 - y.floating), 1, 1e-13);
  }
}

TEST(ScalarValue, RoundsToItsDtype) {
  EXPECT_EQ(ScalarValue::of(DType::kFloat32, 0.1).floating, 0.1f);
  EXPECT_EQ(ScalarValue::of(DType::kBFloat16, 1.00390625).floating, 1.0);  // a tie: to even
  EXPECT_EQ(ScalarValue::of(DType::kBFloat16, 1.01171875).floating, 1.015625);
  EXPECT_EQ(ScalarValue::of(DType::kFloat16, 65520).floating, INFINITY);
  EXPECT_EQ(ScalarValue::of(DType::kFloat16, 1e-8).floating, 0);
}

TEST(ScalarValue, ConvertsWhereCppDefinesIt) {
  EXPECT_EQ(convert(value(DType::kFloat32, -1.5), DType::kInt8)->integer, -1);
  EXPECT_EQ(convert(value(DType::kInt64, 300), DType::kUInt8)->integer, 44);
  EXPECT_EQ(convert(value(DType::kInt64, 256), DType::kBool)->integer, 1);
  EXPECT_EQ(convert(value(DType::kFloat64, std::nan("")), DType::kBool)->integer, 1);
  EXPECT_FALSE(convert(value(DType::kFloat32, 1e20), DType::kInt64).has_value());
  EXPECT_FALSE(convert(value(DType::kFloat32, std::nan("")), DType::kInt32).has_value());
}

}  // namespace
}  // namespace inductor
