#include "aten_bridge/graph/absent_tangents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using ::testing::ElementsAre;

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Of a joint graph with one primal.
std::vector<bool> likely(std::string_view text, int tangents) {
  return likely_tangents({parsed(text), 1, tangents, 0});
}

TEST(AbsentTangents, BesideALossTangentsOfLargerResultsAreUnlikely) {
  EXPECT_THAT(likely("graph 1 g(x: f32[4], a: f32[], b: f32[4, 8]) {\n  return x\n}\n", 2),
              ElementsAre(true, false));
  EXPECT_THAT(likely("graph 1 g(x: f32[4], a: f32[4], b: f32[]) {\n  return x\n}\n", 2),
              ElementsAre(false, true));
  EXPECT_THAT(likely("graph 1 g(x: f32[4], a: f32[4], b: f32[4, 8]) {\n  return x\n}\n", 2),
              ElementsAre(true, true));
  EXPECT_THAT(likely("graph 1 g(x: f32[4], a: f32[], b: f32[]) {\n  return x\n}\n", 2),
              ElementsAre(true, true));
}

TEST(AbsentTangents, ASumWithOneIsTheOtherAddend) {
  EXPECT_EQ(print(without_tangents(
                parsed(R"(graph 1 g(p: bf16[4, 8], loss: f32[], logits: bf16[2, 2, 8]) {
    %0: bf16[4, 8] = aten::mul.Tensor(p, other=loss)
    %1: bf16[2, 2, 8] = aten::view(%0, size=[2, 2, 8])
    %2: bf16[2, 2, 8] = aten::add.Tensor(logits, other=%1, alpha=1)
    %3: bf16[4, 8] = aten::view(%2, size=[4, 8])
    %4: bf16[4, 8] = aten::exp(%3)
    return %4
  })"),
                {true, false})),
            print(parsed(R"(graph 1 g(p: bf16[4, 8], loss: f32[]) {
    %0: bf16[4, 8] = aten::mul.Tensor(p, other=loss)
    %1: bf16[2, 2, 8] = aten::view(%0, size=[2, 2, 8])
    %2: bf16[4, 8] = aten::view(%1, size=[4, 8])
    %3: bf16[4, 8] = aten::exp(%2)
    return %3
  })")));
}

TEST(AbsentTangents, WhatIsLinearInOneIsNoGradient) {
  EXPECT_EQ(print(without_tangents(parsed(R"(graph 1 g(p: f32[4], loss: f32[], y: bf16[2, 4]) {
    %0: f32[2, 4] = aten::_to_copy(y, dtype=f32, layout=none, device=none, pin_memory=none, non_blocking=false, memory_format=none)
    %1: f32[2, 4] = aten::mul.Tensor(p, other=%0)
    %2: f32[2, 4] = aten::tanh_backward(grad_output=%1, output=%1)
    %3: f32[4] = aten::sum.dim_IntList(%2, dim=[0], keepdim=false, dtype=none)
    %4: f32[4] = aten::mul.Tensor(p, other=loss)
    return %3, %4
  })"),
                                   {true, false})),
            print(parsed(R"(graph 1 g(p: f32[4], loss: f32[]) {
    %0: f32[4] = aten::mul.Tensor(p, other=loss)
    return none, %0
  })")));
}

TEST(AbsentTangents, AnotherOperatorReadsZeros) {
  EXPECT_EQ(
      print(without_tangents(parsed(R"(graph 1 g(p: f32[4, 2], loss: f32[], y: f32[2, 4]{1, 2}) {
    %0: f32[4, 2] = aten::permute(y, dims=[1, 0])
    %1: f32[4, 2] = aten::where.self(condition=p, %0, other=p)
    %2: f32[2, 4]{1, 2} = aten::exp(y)
    return %1, %2
  })"),
                             {true, false})),
      print(parsed(R"(graph 1 g(p: f32[4, 2], loss: f32[]) {
    %0: f32[4, 2] = aten::full(size=[4, 2], fill_value=0, dtype=f32, layout=0, device=@cpu, pin_memory=none)
    %1: f32[4, 2] = aten::where.self(condition=p, %0, other=p)
    %2: f32[8] = aten::full(size=[8], fill_value=0, dtype=f32, layout=0, device=@cpu, pin_memory=none)
    %3: f32[2, 4]{1, 2} = aten::as_strided(%2, size=[2, 4], stride=[1, 2], storage_offset=none)
    %4: f32[2, 4]{1, 2} = aten::exp(%3)
    return %1, %4
  })")));
}

}  // namespace
}  // namespace aten_bridge
