#include "aten_bridge/symbolic/expr.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"

namespace aten_bridge {
namespace {

const SymExpr s0 = SymExpr::symbol({'s', 0});
const SymExpr i0 = SymExpr::symbol({'i', 0});
const SymExpr i1 = SymExpr::symbol({'i', 1});

SymExpr parsed(std::string_view text) {
  std::optional<SymExpr> e = parse_sym_expr(&text);
  EXPECT_TRUE(e && text.empty()) << text;
  return e.value_or(-1);
}

TEST(SymExpr, EqualPolynomialsAreEqual) {
  EXPECT_EQ((s0 + 2) * 3, s0 * 3 + 6);
  EXPECT_EQ((s0 + 1) * (s0 - 1), s0 * s0 - 1);
  EXPECT_EQ(i0 * i1 - i1 * i0, 0);
  EXPECT_EQ(((i0 + 2) * (i1 + 3)).hash(), (i0 * i1 + i0 * 3 + i1 * 2 + 6).hash());
  EXPECT_FALSE(s0 == s0 + 1);
  EXPECT_FALSE(i0 == i1);
}

TEST(SymExpr, PrintsConstantsLast) {
  EXPECT_EQ(((s0 + 2) * 3).str(), "3*s0 + 6");
  EXPECT_EQ((i0 * 128 + i1 - 1).str(), "128*i0 + i1 - 1");
  EXPECT_EQ((SymExpr(4) - s0).str(), "-s0 + 4");
  EXPECT_EQ(floor_div(i0, 4).str(), "floor_div(i0, 4)");
  EXPECT_EQ((s0 * i0 + i0).str(), "i0*s0 + i0");
  EXPECT_EQ(SymExpr(-3).str(), "-3");
}

TEST(SymExpr, AConstantKnowsItsValue) {
  EXPECT_EQ((s0 - s0 + 4).constant(), 4);
  EXPECT_EQ(s0.constant(), std::nullopt);
  EXPECT_THROW(s0.as_constant(), InternalError);
}

TEST(SymExpr, ASymbolIsFoundOnlyBare) {
  EXPECT_EQ(s0.as_symbol(), (Symbol{'s', 0}));
  EXPECT_EQ((s0 * 2).as_symbol(), std::nullopt);
  EXPECT_EQ((s0 + 1).as_symbol(), std::nullopt);
}

TEST(SymExpr, OverflowIsAnInternalError) {
  const SymExpr big = std::numeric_limits<int64_t>::max();
  EXPECT_THROW(big + 1, InternalError);
  EXPECT_THROW(big * 2, InternalError);
  EXPECT_THROW(s0 * big * 2, InternalError);
  EXPECT_THROW(SymExpr(-2) - big, InternalError);
}

TEST(SymExpr, DivisionRoundsTowardsMinusInfinity) {
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(mod(-7, 2), 1);
  EXPECT_THROW(floor_div(1, 0), InternalError);
  EXPECT_THROW(mod(s0, -2), InternalError);
}

TEST(SymExpr, DivisionTakesOutMultiples) {
  EXPECT_EQ(floor_div(i0 * 8 + i1, 4), i0 * 2 + floor_div(i1, 4));
  EXPECT_EQ(mod(i0 * 8 + i1, 4), mod(i1, 4));
  EXPECT_EQ(floor_div(i0 * s0 + i1, s0), i0 + floor_div(i1, s0));
  EXPECT_EQ(mod(i0 * s0, s0), 0);
  EXPECT_EQ(floor_div(i0 * 4 + 3, 8), floor_div(i0, 2));
  EXPECT_EQ(mod(i0 * 4 + 3, 8), mod(i0, 2) * 4 + 3);
}

TEST(SymExpr, NestedDivisionsMerge) {
  EXPECT_EQ(floor_div(floor_div(i0, 3) + 1, 4), floor_div(i0 + 3, 12));
  EXPECT_EQ(mod(mod(i0, 12) + i1, 4), mod(i0 + i1, 4));
  EXPECT_EQ(floor_div(mod(i0, 4), 4), 0);
  EXPECT_EQ(mod(mod(i0, 3), 4), mod(i0, 3));
}

TEST(SymExpr, MinAndMaxDecideWhereTheDifferenceIsConstant) {
  EXPECT_EQ(min(s0, s0 + 1), s0);
  EXPECT_EQ(max(s0, s0 + 1), s0 + 1);
  EXPECT_EQ(max(s0, 1), max(1, s0));
  EXPECT_EQ(max(s0, 1).str(), "max(s0, 1)");
}

TEST(SymExpr, SubstitutesAllAtOnce) {
  const SymExpr swapped = (i0 * 2 + i1).substitute({{{'i', 0}, i1}, {{'i', 1}, i0}});
  EXPECT_EQ(swapped, i1 * 2 + i0);
  EXPECT_EQ(floor_div(i0, 4).substitute({{{'i', 0}, i1 * 8}}), i1 * 2);
}

TEST(SymExpr, CoefficientOfALinearSymbol) {
  EXPECT_EQ((i0 * 16 + i1).coefficient({'i', 0}), 16);
  EXPECT_EQ((i0 * 16 + i1).coefficient({'i', 2}), 0);
  EXPECT_EQ((i0 * s0).coefficient({'i', 0}), std::nullopt);
  EXPECT_EQ(floor_div(i0, 4).coefficient({'i', 0}), std::nullopt);
  EXPECT_EQ((i0 * i0).coefficient({'i', 0}), std::nullopt);
}

TEST(SymExpr, ListsItsSymbolsOnce) {
  EXPECT_EQ((i0 * s0 + floor_div(s0 + i1, 2)).symbols(),
            (std::vector<Symbol>{{'i', 0}, {'i', 1}, {'s', 0}}));
  EXPECT_TRUE(mod(i0, 4).mentions({'i', 0}));
  EXPECT_FALSE(mod(i0, 4).mentions({'i', 1}));
}

TEST(SymExprText, StopsWhereTheExpressionEnds) {
  std::string_view text = "3*s0 + 6, rest";
  EXPECT_EQ(parse_sym_expr(&text), s0 * 3 + 6);
  EXPECT_EQ(text, ", rest");
  text = "i0 ]";
  EXPECT_EQ(parse_sym_expr(&text), i0);
  EXPECT_EQ(text, " ]");
}

TEST(SymExprText, ReadsTheWholeRangeOfIntegers) {
  EXPECT_EQ(parsed("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parsed("9223372036854775807"), std::numeric_limits<int64_t>::max());
}

TEST(SymExprText, RefusesWhatIsNoExpression) {
  for (std::string_view bad :
       {"", "+", "3*", "floor_div(i0)", "floor_div(i0, 0)", "mod(i0, 4", "foo", "s", "(i0",
        "99999999999999999999", "9223372036854775807 + 1"}) {
    std::string_view text = bad;
    EXPECT_EQ(parse_sym_expr(&text), std::nullopt) << bad;
    EXPECT_EQ(text, bad);
  }
}

TEST(SymExprText, RefusesTextThatNestsWithoutEnd) {
  const std::string deep(1000000, '(');
  std::string_view text = deep;
  EXPECT_EQ(parse_sym_expr(&text), std::nullopt);
}

// Builds a random expression and, beside it, what it is worth by plain arithmetic.
struct Sample {
  SymExpr expr;
  int64_t value;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {
    for (int64_t& v : values_) v = pick(-20, 20);
    for (int k : {0, 1}) values_[k] = pick(1, 9);  // s0, s1: divisors
  }

  Sample sample(int depth) {
    if (depth == 0) return leaf();
    const Sample a = sample(depth - 1), b = sample(depth - 1);
    switch (pick(0, 6)) {
      case 0:
        return {a.expr + b.expr, a.value + b.value};
      case 1:
        return {a.expr - b.expr, a.value - b.value};
      case 2:
        return {a.expr * pick(-4, 4), a.value * last_};
      case 3: {
        const Sample d = divisor();
        return {floor_div(a.expr, d.expr), by_hand_floor(a.value, d.value)};
      }
      case 4: {
        const Sample d = divisor();
        return {mod(a.expr, d.expr), a.value - d.value * by_hand_floor(a.value, d.value)};
      }
      case 5:
        return {min(a.expr, b.expr), std::min(a.value, b.value)};
      default:
        return {max(a.expr, b.expr), std::max(a.value, b.value)};
    }
  }

  int64_t value_of(Symbol s) const { return values_[s.kind == 's' ? s.index : 2 + s.index]; }

 private:
  static int64_t by_hand_floor(int64_t a, int64_t b) {
    int64_t q = a / b;
    while (q * b > a) --q;
    return q;
  }

  Sample symbol(Symbol s) { return {SymExpr::symbol(s), value_of(s)}; }

  Sample leaf() {
    if (pick(0, 2) == 0) {
      const int64_t c = pick(-9, 9);
      return {c, c};
    }
    return symbol({'i', static_cast<int32_t>(pick(0, 2))});
  }

  Sample divisor() {
    const int64_t c = pick(1, 8);
    if (pick(0, 2) != 0) return {c, c};
    const Sample s = symbol({'s', static_cast<int32_t>(pick(0, 1))});
    return {s.expr * c, s.value * c};
  }

  int64_t pick(int64_t low, int64_t high) {
    return last_ = std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::mt19937 random_;
  int64_t last_ = 0;
  int64_t values_[5];
};

TEST(SymExprProperty, SimplifyingKeepsTheValueAndTheTextReadsBack) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Generator g(seed);
    const Sample s = g.sample(1 + seed % 5);
    EXPECT_EQ(s.expr.evaluate([&](Symbol x) { return g.value_of(x); }), s.value)
        << "seed " << seed << ": " << s.expr.str();
    const SymExpr again = parsed(s.expr.str());
    EXPECT_EQ(again, s.expr) << "seed " << seed << ": " << again.str();
    EXPECT_EQ(again.hash(), s.expr.hash());
  }
}

TEST(SymExprProperty, SubstitutingValuesIsEvaluating) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    Generator g(seed);
    const Sample s = g.sample(1 + seed % 5);
    aten_bridge::HashMap<Symbol, SymExpr> values;
    for (Symbol x : s.expr.symbols()) values[x] = g.value_of(x);
    EXPECT_EQ(s.expr.substitute(values), s.value) << "seed " << seed << ": " << s.expr.str();
  }
}

}  // namespace
}  // namespace aten_bridge
