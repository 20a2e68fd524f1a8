#include "inductor/passes/fold_rules.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "inductor/ir/scalar_table.h"
#include "inductor/ir/text.h"
#include "inductor/passes/fold.h"
#include "inductor/passes/passes.h"

namespace inductor {
namespace {

constexpr DType kDtypes[] = {DType::kUInt8, DType::kInt8,    DType::kInt16,   DType::kInt32,
                             DType::kInt64, DType::kFloat32, DType::kFloat64, DType::kBool};

bool claims(const Rule& rule, DType dtype) {
  const char kind = dtype == DType::kBool ? 'B' : is_floating(dtype) ? 'F' : 'I';
  return rule.domain.find(kind) != std::string_view::npos;
}

ScalarValue random_value(DType dtype, std::mt19937& random) {
  if (!is_floating(dtype)) {
    const int64_t limits[] = {std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max(),
                              -128,
                              0x80,
                              -32768,
                              0,
                              1,
                              -1};
    return ScalarValue::of_integer(
        dtype, random() % 2 ? limits[random() % 8] : static_cast<int64_t>(random() % 7) - 3);
  }
  const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 1e-310};
  return ScalarValue::of(
      dtype, random() % 2 ? specials[random() % 8] : static_cast<double>(random() % 64) / 8 - 4);
}

Expr literal(ExprPool& pool, const ScalarValue& v) {
  return is_floating(v.dtype) ? pool.constant(v.dtype, v.floating)
                              : pool.integer(v.dtype, v.integer);
}

ScalarValue value_of(Expr e) {
  if (e.op() == ScalarOp::constant)
    return is_floating(e.dtype()) ? ScalarValue::of(e.dtype(), e.floating())
                                  : ScalarValue::of_integer(e.dtype(), e.integer());
  std::vector<ScalarValue> args;
  for (Expr arg : e.args()) args.push_back(value_of(arg));
  return evaluate(e.op(), args);
}

bool same(const ScalarValue& a, const ScalarValue& b) {
  return same_bits(a, b) || (std::isnan(a.floating) && std::isnan(b.floating));
}

// The dtype of a pattern's literals is that of the side's root argument.
DType root_dtype(const Pattern& p, DType dtype) {
  return p.op && row(*p.op).result == ScalarResult::kBool ? DType::kBool : dtype;
}

TEST(FoldRules, BothSidesAgreeOnEveryDtypeClaimed) {
  std::mt19937 random(7);
  int checked = 0;
  for (size_t n = 0; n < fold_rules().size(); ++n) {
    const Rule& rule = fold_rules()[n];
    for (DType dtype : kDtypes) {
      if (!claims(rule, dtype)) continue;
      for (int trial = 0; trial < 300; ++trial) {
        ExprPool pool;
        // bit_not(eq(x, y)) claims bool for its root: its variables may be of any dtype.
        const bool negated = rule.from.args[0].op && rule.from.op == ScalarOp::bit_not &&
                             row(*rule.from.args[0].op).result == ScalarResult::kBool;
        const DType of_variables = negated ? kDtypes[random() % 8] : dtype;
        std::vector<Expr> variables;
        for (int v = 0; v < 3; ++v)
          variables.push_back(literal(pool, random_value(of_variables, random)));
        variables.push_back(literal(pool, random_value(DType::kBool, random)));
        const ScalarValue from = value_of(instantiate(pool, rule.from, variables, of_variables));
        const DType result = root_dtype(rule.from, dtype);
        const ScalarValue to =
            value_of(instantiate(pool, rule.to, variables, rule.to.op ? of_variables : result));
        ASSERT_TRUE(same(from, to)) << "rule " << n << " on " << to_string(of_variables);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 10000);
}

struct Case {
  std::string_view before, after;
};

class Fold : public ::testing::TestWithParam<Case> {};

TEST_P(Fold, Rewrites) {
  const auto program = [](std::string_view value) {
    return "loops 1 f(x: f32[8], h: bf16[8], n: i64[8], b: bool[8]) -> y {\n"
           "  y: f32[8] output\n  for i0 < 8\n    y[i0] = " +
           std::string(value) + "\n}\n";
  };
  auto before = parse_loops(program(GetParam().before));
  ASSERT_TRUE(before.ok()) << before.status();
  fold(*before);
  EXPECT_EQ(print(*before), program(GetParam().after));
}

INSTANTIATE_TEST_SUITE_P(
    Each, Fold,
    ::testing::Values(Case{"add(x[i0], 0:f32)", "add(x[i0], 0:f32)"},  // not of -0.0
                      Case{"mul(1:f32, x[i0])", "x[i0]"},
                      Case{"add(2:f32, mul(3:f32, 4:f32))", "14:f32"},
                      Case{"div(x[i0], 8:f32)", "mul(x[i0], 0.125:f32)"},
                      Case{"div(x[i0], 3:f32)", "div(x[i0], 3:f32)"},
                      Case{"f32(f64(x[i0]))", "x[i0]"},
                      Case{"f32(bf16(x[i0]))", "f32(bf16(x[i0]))"},  // it rounds
                      Case{"f32(bf16(f32(h[i0])))", "f32(h[i0])"},
                      Case{"select(ge(index(i0), 0:i64), x[i0], 0:f32)", "x[i0]"},
                      Case{"select(lt(index(i0), 8:i64), x[i0], 0:f32)", "x[i0]"},
                      Case{"select(lt(index(i0), 7:i64), x[i0], 0:f32)",
                           "select(lt(index(i0), 7:i64), x[i0], 0:f32)"},
                      Case{"x[t0; minimum(maximum(index(i0), 0:i64), 7:i64)]", "x[i0]"},
                      Case{"x[t0; minimum(maximum(n[i0], 0:i64), 7:i64)]",
                           "x[t0; minimum(maximum(n[i0], 0:i64), 7:i64)]"},
                      Case{"select(bit_not(b[i0]), 1:f32, select(b[i0], 2:f32, 3:f32))",
                           "select(b[i0], 2:f32, 1:f32)"}));

}  // namespace
}  // namespace inductor
