#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"
#include "inductor/ir/text.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"

namespace inductor {
namespace {

TEST(PassesGolden, FromGraphs) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/passes")) {
    auto graph = aten_bridge::parse_graph(golden.section("graph"));
    ASSERT_TRUE(graph.ok()) << golden.path << ": " << graph.status();
    LoopProgram program = lower(*graph);
    for (const Pass& pass : passes()) {
      pass.run(program);
      ASSERT_TRUE(verify(program).ok())
          << golden.path << ", " << pass.name << ": " << verify(program) << print(program);
    }
    torchdyn::testing::check(golden, print(program));
  }
}

}  // namespace
}  // namespace inductor
