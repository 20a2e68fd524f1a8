#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"
#include "inductor/lowering/lowering.h"

namespace inductor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kSilu[] = R"(graph 1 g(x: f32[4, 6]) {
  %0: f32[4, 6] = aten::neg(x)
  %1: f32[6, 4]{1, 6} = aten::permute(%0, dims=[1, 0])  # aten::silu
  %2: f32[6, 4]{1, 6} = aten::sigmoid(%1)  # aten::silu
  return %2
})";

std::vector<std::string> extern_calls(const LeftToAten& left, const char* text = kSilu) {
  auto graph = aten_bridge::parse_graph(text);
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

TEST(Lower, CallsOperatorsThatTouchAnotherDevice) {
  constexpr char kTwo[] = R"(graph 1 g(x: f32[4]@cuda:0, n: f64[]) {
    %0: f64[] = aten::clone(n, memory_format=none)
    %1: f32[4]@cuda:0 = aten::mul.Tensor(x, other=n)
    %2: f32[4]@cuda:0 = aten::neg(x)
    return %0, %1, %2
  })";
  EXPECT_THAT(extern_calls({}, kTwo), ElementsAre("aten::clone", "aten::mul.Tensor"));
}

}  // namespace
}  // namespace inductor
