#include "inductor/ir/node_table.h"

#include <gtest/gtest.h>

namespace inductor {
namespace {

TEST(NodeTable, FindsWhatWasAddedHoweverManyNodes) {
  ExprPool pool;
  NodeTable<int64_t> table;
  for (int64_t n = 0; n < 100; ++n) {
    const Expr e = pool.integer(DType::kInt64, n);
    EXPECT_EQ(table.find(e), nullptr) << n;
    table.add(e, n);
    for (int64_t before = 0; before <= n; ++before) {
      const int64_t* found = table.find(pool.integer(DType::kInt64, before));
      ASSERT_NE(found, nullptr) << before << " of " << n;
      EXPECT_EQ(*found, before);
    }
  }
}

}  // namespace
}  // namespace inductor
