#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"
#include "inductor/lowering/lowering.h"

namespace inductor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> extern_calls(const LeftToAten& left) {
  auto graph = aten_bridge::parse_graph(R"(graph 1 g(x: f32[4, 6]) {
    %0: f32[4, 6] = aten::neg(x)
    %1: f32[6, 4]{1, 6} = aten::permute(%0, dims=[1, 0])  # aten::silu
    %2: f32[6, 4]{1, 6} = aten::sigmoid(%1)  # aten::silu
    return %2
  })");
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> calls;
  for (const Stmt& stmt : lower(*graph, aten_bridge::Numerics::kDefault, left).body)
    if (auto* call = std::get_if<ExternCall>(&stmt)) calls.push_back(call->op);
  return calls;
}

TEST(Lower, LeavesNothingToAtenUnasked) { EXPECT_THAT(extern_calls({}), IsEmpty()); }

TEST(Lower, LeavesAnOperatorToAten) {
  EXPECT_THAT(extern_calls({"aten::neg"}), ElementsAre("aten::neg"));
}

TEST(Lower, LeavesWhatAnOperatorWasDecomposedIntoButItsViews) {
  EXPECT_THAT(extern_calls({"aten::silu"}), ElementsAre("aten::sigmoid"));
}

}  // namespace
}  // namespace inductor
