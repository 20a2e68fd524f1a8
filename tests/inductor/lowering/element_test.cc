#include "inductor/lowering/element.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/row_index.h"
#include "aten_bridge/graph/text.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/emit/emit.h"
#include "inductor/ir/text.h"
#include "inductor/passes/passes.h"
#include "inductor/schedule/schedule.h"
#include "tests/support/golden.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ElementFunction parsed(std::string_view text) {
  auto function = parse_element(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return *std::move(function);
}

std::string error_of(std::string_view text) {
  return std::string(parse_element(text).status().message());
}

std::string lowered(std::string_view graph_text,
                    aten_bridge::Numerics numerics = aten_bridge::Numerics::kDefault) {
  auto graph = aten_bridge::parse_graph(graph_text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const LoopProgram program = lower(*graph, numerics);
  EXPECT_TRUE(verify(program).ok()) << verify(program);
  return print(program);
}

std::string kernels_of(const aten_bridge::Graph& graph, const Features& features,
                       EmittedKernel (*emit)(const LoopProgram&, const Kernel&)) {
  LoopProgram program = lower(graph);
  run_passes(program);
  schedule(program, features);
  std::string text;
  for (const Stmt& stmt : program.body) {
    const auto* kernel = std::get_if<Kernel>(&stmt);
    text += kernel ? emit(program, *kernel).text : "an extern call\n";
  }
  return text;
}

TEST(ElementGolden, FusesOnBothDevices) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/element")) {
    add_lowering("test::golden", parsed(golden.section("element")));
    auto graph = aten_bridge::parse_graph(golden.section("graph"));
    ASSERT_TRUE(graph.ok()) << golden.path << ": " << graph.status();
    torchdyn::testing::check(golden, kernels_of(*graph, Features(), emit_cpp) +
                                         kernels_of(*graph, cuda_features(), emit_cuda));
  }
}

TEST(Element, ItsTextRoundTrips) {
  const std::string text = R"(element 1 (x, beta) {
  %0 = mul(beta, x)
  %1 = ge(%0, -0.10000000000000001)
  %2 = bit_and(%1, true)
  %3 = select(%2, inf, nan)
  return %3, x
}
)";
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(Element, AnUnknownOperationListsTheKnownOnes) {
  EXPECT_THAT(error_of("element 1 (x) { %0 = swish(x) return %0 }"),
              HasSubstr("no operation swish; there are add, sub,"));
}

TEST(Element, TextsThatDoNotReadSayWhy) {
  EXPECT_THAT(error_of("element 2 (x) { return x }"), HasSubstr("version 1"));
  EXPECT_THAT(error_of("element 1 (x) { return y }"), HasSubstr("y is no argument"));
  EXPECT_THAT(error_of("element 1 (x) { return %0 }"), HasSubstr("%0 is not defined"));
  EXPECT_THAT(error_of("element 1 (x) { %0 = exp(%0) return %0 }"), HasSubstr("is not defined"));
  EXPECT_THAT(error_of("element 1 (x) { %1 = exp(x) return %1 }"), HasSubstr("in order"));
  EXPECT_THAT(error_of("element 1 (x) { %0 = exp(x, x) return %0 }"),
              HasSubstr("exp takes 1 operands, not 2"));
}

TEST(Element, ComputesInTheDtypeOfOperandsAndResults) {
  add_lowering("test::twice", parsed("element 1 (x) { %0 = mul(2, x) return %0 }"));
  EXPECT_THAT(lowered(R"(graph 1 g(x: f16[4], n: i32[4]) {
    %0: f16[4] = test::twice(x=x)
    %1: i64[4] = test::twice(x=n)
    %2: f64[4] = test::twice(x=x)
    return %0, %1, %2
  })"),
              AllOf(HasSubstr("f16(mul(2:f32, f32(x[i0])))"), HasSubstr("mul(2:i64, i64(n[i1]))"),
                    HasSubstr("mul(2:f64, f64(x[i2]))")));
}

TEST(Element, EachResultIsANestOfItsOwn) {
  add_lowering("test::parts",
               parsed("element 1 (x) { %0 = floor(x) %1 = sub(x, %0) return %0, %1 }"));
  EXPECT_THAT(lowered(R"(graph 1 g(x: f32[4]) {
    %0: f32[4], %1: f32[4] = test::parts(x=x)
    return %0, %1
  })"),
              AllOf(HasSubstr("= floor(x[i0])"), HasSubstr("= sub(x[i1], floor(x[i1]))")));
}

TEST(Element, WhatIsNotDefinedOnADtypeIsAnExternCall) {
  add_lowering("test::half", parsed("element 1 (x) { %0 = div(x, 2) return %0 }"));
  add_lowering("test::half_more", parsed("element 1 (x) { %0 = add(x, 0.5) return %0 }"));
  EXPECT_THAT(lowered(R"(graph 1 g(x: i64[4]) {
    %0: i64[4] = test::half(x=x)
    %1: i64[4] = test::half_more(x=x)
    return %0, %1
  })"),
              AllOf(HasSubstr("= test::half(x=x)"), HasSubstr("= test::half_more(x=x)")));
}

TEST(Element, AnOperandThatDoesNotBroadcastIsAnExternCall) {
  add_lowering("test::first", parsed("element 1 (x) { return x }"));
  EXPECT_THAT(lowered(R"(graph 1 g(x: f32[3, 4]) {
    %0: f32[4] = test::first(x=x)
    return %0
  })"),
              HasSubstr("= test::first(x=x)"));
}

TEST(Element, KeepingEagersBitsIsLeftToAten) {
  add_lowering("test::plain", parsed("element 1 (x) { %0 = neg(x) return %0 }"));
  constexpr std::string_view kGraph = R"(graph 1 g(x: f32[4]) {
    %0: f32[4] = test::plain(x=x)
    return %0
  })";
  EXPECT_THAT(lowered(kGraph), HasSubstr("neg(x[i0])"));
  EXPECT_THAT(lowered(kGraph, aten_bridge::Numerics::kEager), HasSubstr("= test::plain(x=x)"));
}

TEST(Element, TheLastDefinitionCountsAndIsSeen) {
  constexpr std::string_view kGraph = R"(graph 1 g(x: f32[4]) {
    %0: f32[4] = test::changing(x=x)
    return %0
  })";
  EXPECT_THAT(lowered(kGraph), HasSubstr("= test::changing(x=x)"));
  add_lowering("test::changing", parsed("element 1 (x) { %0 = neg(x) return %0 }"));
  EXPECT_THAT(lowered(kGraph), HasSubstr("neg(x[i0])"));
  const uint64_t before = aten_bridge::rows_generation();
  add_lowering("test::changing", parsed("element 1 (x) { %0 = exp(x) return %0 }"));
  EXPECT_NE(aten_bridge::rows_generation(), before);
  EXPECT_THAT(lowered(kGraph), AllOf(HasSubstr("exp(x[i0])"), Not(HasSubstr("neg"))));
}

TEST(Element, RowsJoinWhileOthersAreFound) {
  const ElementFunction neg = parsed("element 1 (x) { %0 = neg(x) return %0 }");
  const LoweringRow* add = find_lowering("aten::add.Tensor");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string op = "test::thread" + std::to_string(t) + "_" + std::to_string(i % 50);
        add_lowering(op, neg);
        const LoweringRow* row = find_lowering(op);
        EXPECT_TRUE(row && row->op == op && row->element->operations.size() == 1);
        EXPECT_EQ(find_lowering("aten::add.Tensor"), add);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace inductor
