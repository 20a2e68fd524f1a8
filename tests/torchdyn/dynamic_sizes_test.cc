#include "torchdyn/dynamic_sizes.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace torchdyn {
namespace {

const SymExpr s0 = SymExpr::symbol({'s', 0});
const SymExpr s1 = SymExpr::symbol({'s', 1});

// x: [s0, 4], y: of any fixed shape, n: s0 + s1, m: s1.
DynamicSizes sizes() {
  return {{DynamicSizes::Geometry{{s0, 4}, {4, 1}}, std::nullopt},
          {s0 + s1, s1},
          {{5, 7}, {8, 3}, {9, 4}}};
}

internal::Leaves leaves(at::Tensor x, int64_t n, int64_t m) {
  internal::Leaves leaves;
  leaves.tensor(x);
  leaves.tensor(at::zeros({3}));
  leaves.numbers = {n, m};
  return leaves;
}

SizeGuards guards() {
  auto made = SizeGuards::make(sizes(), leaves(at::zeros({6, 4}), 9, 3));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

TEST(SizeGuards, ReadTheSymbolsFromACall) {
  EXPECT_EQ(guards().values(leaves(at::zeros({6, 4}), 9, 3)), (Samples{6, 3}));
  EXPECT_EQ(guards().values(leaves(at::zeros({11, 4}), 13, 2)), (Samples{11, 2}));
}

TEST(SizeGuards, RefuseSizesThatTheSymbolsDoNotMake) {
  EXPECT_FALSE(guards().values(leaves(at::zeros({6, 5}), 9, 3)));
  EXPECT_FALSE(guards().values(leaves(at::zeros({6, 4}), 10, 3)));
  EXPECT_FALSE(guards().values(leaves(at::zeros({6}), 9, 3)));
  EXPECT_FALSE(guards().values(leaves(at::zeros({4, 6}).t(), 9, 3)));
}

TEST(SizeGuards, RefuseSizesBelowTwo) {
  EXPECT_FALSE(guards().values(leaves(at::zeros({1, 4}), 4, 3)));
  EXPECT_FALSE(guards().values(leaves(at::zeros({6, 4}), 7, 1)));
}

TEST(SizeGuards, NeedASourceForEachSymbol) {
  DynamicSizes open = sizes();
  open.numbers = {s0 + s1, s0 * s1};
  const auto made = SizeGuards::make(open, leaves(at::zeros({6, 4}), 9, 18));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("s1"), std::string::npos) << made.status();
}

TEST(SizeGuards, NeedSamples) {
  DynamicSizes open = sizes();
  open.samples.clear();
  EXPECT_FALSE(SizeGuards::make(open, leaves(at::zeros({6, 4}), 9, 3)).ok());
}

}  // namespace
}  // namespace torchdyn
