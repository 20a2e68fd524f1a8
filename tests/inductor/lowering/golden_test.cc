#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"

namespace inductor {
namespace {

TEST(LoweringGolden, EachFamily) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/lowering")) {
    auto graph = aten_bridge::parse_graph(golden.section("graph"));
    ASSERT_TRUE(graph.ok()) << golden.path << ": " << graph.status();
    const LoopProgram program = lower(*graph);
    EXPECT_TRUE(verify(program).ok()) << golden.path << ": " << verify(program);
    const std::string text = print(program);
    auto again = parse_loops(text);
    ASSERT_TRUE(again.ok()) << golden.path << ": " << again.status() << "\n" << text;
    EXPECT_EQ(print(*again), text) << golden.path;
    torchdyn::testing::check(golden, text);
  }
}

}  // namespace
}  // namespace inductor
