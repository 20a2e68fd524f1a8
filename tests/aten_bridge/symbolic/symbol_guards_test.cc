#include "aten_bridge/symbolic/symbol_guards.h"

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

using Operator = SymbolGuards::Operator;
using Sizes = std::vector<std::vector<int64_t>>;

const SymExpr s0 = SymExpr::symbol({'s', 0}), s1 = SymExpr::symbol({'s', 1});

// Of contiguous vectors and matrices.
bool check(const SymbolGuards& guards, const Sizes& sizes) {
  Sizes strides;
  for (const auto& one : sizes)
    strides.push_back(one.size() == 2 ? std::vector<int64_t>{one[1], 1}
                                      : std::vector<int64_t>(one.size(), 1));
  return guards.check([&](size_t n) { return SymbolGuards::Given{sizes[n], strides[n]}; });
}

// f(x, y): x is [s0, s1], y is [2*s0].
SymbolGuards guards_of(std::vector<SymbolGuards::Condition> conditions) {
  SymbolGuards guards;
  guards.inputs = {SymbolGuards::Geometry{{s0, s1}, {s1, 1}},
                   SymbolGuards::Geometry{{2 * s0}, {1}}};
  guards.conditions = std::move(conditions);
  EXPECT_TRUE(guards.find_symbols());
  return guards;
}

TEST(SymbolGuards, HoldForAllSizesThatSymbolsMake) {
  const SymbolGuards guards = guards_of({});
  EXPECT_TRUE(check(guards, {{3, 4}, {6}}));
  EXPECT_TRUE(check(guards, {{5, 2}, {10}}));
  EXPECT_FALSE(check(guards, {{3, 4}, {7}}));
}

TEST(SymbolGuards, Take0And1ForAnotherProgram) {
  const SymbolGuards guards = guards_of({});
  EXPECT_FALSE(check(guards, {{1, 4}, {2}}));
  EXPECT_FALSE(check(guards, {{3, 1}, {6}}));
  EXPECT_FALSE(check(guards, {{3, 0}, {6}}));
}

TEST(SymbolGuards, SeeRanksAndStrides) {
  const SymbolGuards guards = guards_of({});
  EXPECT_FALSE(check(guards, {{3}, {6}}));
  EXPECT_FALSE(check(guards, {{3, 4}, {6, 1}}));
  const std::vector<int64_t> sizes = {3, 4}, transposed = {1, 3}, other = {6}, one = {1};
  EXPECT_FALSE(guards.check([&](size_t n) {
    return n == 0 ? SymbolGuards::Given{sizes, transposed} : SymbolGuards::Given{other, one};
  }));
}

TEST(SymbolGuards, CheckRelationsOfEachKind) {
  const auto holds_for = [](Operator op, int64_t size) {
    return check(guards_of({{{s0, op, 4}}}), {{size, 9}, {2 * size}});
  };
  const std::vector<std::vector<bool>> expected = {// 3, 4, 5
                                                   {false, true, false}, {true, false, true},
                                                   {true, false, false}, {true, true, false},
                                                   {false, false, true}, {false, true, true}};
  for (int op = 0; op < 6; ++op)
    for (int64_t size = 3; size <= 5; ++size)
      EXPECT_EQ(holds_for(static_cast<Operator>(op), size), expected[op][size - 3]) << op << size;
}

TEST(SymbolGuards, HoldWhereOneRelationOfEachConditionDoes) {
  const SymbolGuards guards = guards_of(
      {{{s0, Operator::kEqual, 3}, {s1, Operator::kEqual, 4}}, {{s0 + s1, Operator::kLess, 9}}});
  EXPECT_TRUE(check(guards, {{3, 5}, {6}}));
  EXPECT_TRUE(check(guards, {{2, 4}, {4}}));
  EXPECT_FALSE(check(guards, {{2, 5}, {4}}));
  EXPECT_FALSE(check(guards, {{3, 6}, {6}}));
}

TEST(SymbolGuards, DoNotHoldWhereAnExpressionIsNoNumber) {
  const int64_t large = int64_t{1} << 62;
  EXPECT_FALSE(
      check(guards_of({{{s0 * s1, Operator::kGreater, 4}}}), {{large / 2, large}, {large}}));
}

TEST(SymbolGuards, NeedSymbolsThatAreSizes) {
  SymbolGuards guards;
  guards.inputs = {SymbolGuards::Geometry{{2 * s0}, {1}}};
  EXPECT_FALSE(guards.find_symbols());
  guards.inputs = {std::nullopt};
  guards.conditions = {{{s0, Operator::kEqual, 4}}};
  EXPECT_FALSE(guards.find_symbols());
}

TEST(SymbolGuards, SayWhatFails) {
  const SymbolGuards guards = guards_of({{{s0, Operator::kLess, 4}, {s1, Operator::kEqual, 7}}});
  const std::vector<int64_t> x = {5, 4}, x_strides = {4, 1}, y = {10}, y_strides = {1};
  const auto given = [&](size_t n) {
    return n == 0 ? SymbolGuards::Given{x, x_strides} : SymbolGuards::Given{y, y_strides};
  };
  EXPECT_EQ(guards.explain_failure(given, {"x", "y"}), "not s0 < 4 or s1 == 7");
  EXPECT_EQ(guards.describe({"x", "y"}),
            (std::vector<std::string>{"x: sizes [s0, s1], strides [s1, 1]",
                                      "y: sizes [2*s0], strides [1]", "s0 < 4 or s1 == 7"}));
}

TEST(SymbolGuards, NameOperators) {
  EXPECT_EQ(relation_operator(">="), Operator::kGreaterOrEqual);
  EXPECT_EQ(relation_operator("=>"), std::nullopt);
}

}  // namespace
}  // namespace aten_bridge
