#include "inductor/schedule/nest.h"

#include <gtest/gtest.h>

#include "inductor/ir/text.h"

namespace inductor {
namespace {

TEST(Nest, OrdersLoopsWhoseStepsDependOnAnUnknownSize) {
  auto program = parse_loops(R"(loops 1 take(x: f32[s0]) -> buf0 {
  buf0: f32[64] output
  for i0 < 64  # aten::sum.dim_IntList
    for i1 < 3 reduction
      buf0[i0] += x[mod(i0 + i1, s0)]
}
)");
  ASSERT_TRUE(program.ok()) << program.status();
  const Parts parts = in_order(*program, program->body[0], Features());
  ASSERT_EQ(parts.loops.size(), 2u);
  EXPECT_EQ(parts.loops[0].extent, SymExpr(64));
}

}  // namespace
}  // namespace inductor
