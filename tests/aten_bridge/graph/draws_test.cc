#include "aten_bridge/graph/draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;

bool is_view(const Node& node) {
  return node.op == "aten::permute" || node.op == "aten::view" || node.op == "aten::slice.Tensor";
}

// A device of two processors of 2048 threads.
constexpr int64_t kThreads = 4096;

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return *std::move(graph);
}

std::string rewritten(const std::string& text, int primals) {
  const Graph graph = parsed(text);
  return print(draws_in_kernels(
      graph, {primals, is_view, [](const Device&) { return std::optional(kThreads); }}));
}

std::string unchanged(const std::string& text) { return print(parsed(text)); }

TEST(Draws, ADropoutIsAStateAMaskAndAProduct) {
  EXPECT_EQ(rewritten(R"(graph 1 g(x: f32[8, 4]@cuda:0) {
    %0: f32[8, 4]@cuda:0, %1: bool[8, 4]@cuda:0 = aten::native_dropout(input=x, p=0.25, train=true)
    return %0, %1
  })",
                      1),
            unchanged(R"(graph 1 g(x: f32[8, 4]@cuda:0) {
    %0: i64[2] = torchdyn::philox_state(increment=4, aligned=[x], device=@cuda:0)  # aten::native_dropout
    %1: bool[8, 4]@cuda:0 = torchdyn::philox_dropout(state=%0, size=[8, 4], keep=0.75, vector=4, threads=4096, device=@cuda:0)  # aten::native_dropout
    %2: f32[8, 4]@cuda:0 = aten::native_dropout_backward(grad_output=x, mask=%1, scale=1.3333333730697632)  # aten::native_dropout
    return %2, %1
  })"));
}

// Columns that lie together: drawn in that order, and seen as the graph has them.
TEST(Draws, ADenseTensorIsDrawnInTheOrderOfItsMemory) {
  EXPECT_EQ(rewritten(R"(graph 1 g(x: bf16[8, 4]{1, 8}@cuda:0) {
    %0: bf16[8, 4]{1, 8}@cuda:0 = aten::relu(x)
    %1: bf16[8, 4]{1, 8}@cuda:0, %2: bool[8, 4]{1, 8}@cuda:0 = aten::native_dropout(input=%0, p=0.5, train=none)
    return %1
  })",
                      1),
            unchanged(R"(graph 1 g(x: bf16[8, 4]{1, 8}@cuda:0) {
    %0: bf16[8, 4]{1, 8}@cuda:0 = aten::relu(x)
    %1: i64[2] = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)  # aten::native_dropout
    %2: bool[4, 8]@cuda:0 = torchdyn::philox_dropout(state=%1, size=[4, 8], keep=0.5, vector=8, threads=4096, device=@cuda:0)  # aten::native_dropout
    %3: bool[8, 4]{1, 8}@cuda:0 = aten::permute(%2, dims=[1, 0])  # aten::native_dropout
    %4: bf16[8, 4]{1, 8}@cuda:0 = aten::native_dropout_backward(grad_output=%0, mask=%3, scale=2.0)  # aten::native_dropout
    return %4
  })"));
}

std::string dropout_of(const std::string& type, const std::string& mask) {
  return rewritten(
      str_cat("graph 1 g(x: ", type, "@cuda:0) {\n  %0: ", type, "@cuda:0, %1: ", mask,
              "@cuda:0 = aten::native_dropout(input=x, p=0.5, train=true)\n", "  return %0, %1\n}"),
      1);
}

TEST(Draws, TheWidthIsTheWidestThatLeavesNoRemainder) {
  EXPECT_THAT(dropout_of("bf16[40]", "bool[40]"), HasSubstr("vector=8"));
  EXPECT_THAT(dropout_of("bf16[44]", "bool[44]"), HasSubstr("vector=4"));
  EXPECT_THAT(dropout_of("f32[40]", "bool[40]"), HasSubstr("vector=4"));
  EXPECT_THAT(dropout_of("f64[40]", "bool[40]"), HasSubstr("vector=2"));
  EXPECT_THAT(dropout_of("f32[7, 2]", "bool[7, 2]"), HasSubstr("vector=2"));
  EXPECT_THAT(dropout_of("f32[7]", "bool[7]"), HasSubstr("aligned=tensor[]"));
  EXPECT_THAT(dropout_of("f32[7]", "bool[7]"), HasSubstr("vector=1"));
}

TEST(Draws, AnInputWithGapsIsDrawnOneByOne) {
  const std::string text = rewritten(R"(graph 1 g(x: f32[8, 4]{8, 1}@cuda:0) {
    %0: f32[8, 4]@cuda:0, %1: bool[8, 4]@cuda:0 = aten::native_dropout(input=x, p=0.5, train=true)
    return %0
  })",
                                     1);
  EXPECT_THAT(text, HasSubstr("aligned=tensor[]"));
  EXPECT_THAT(text, HasSubstr("size=[8, 4], keep=0.5, vector=1"));
}

// (elements - 1) / (threads * 4) + 1 calls, each of four; two doubles a call.
TEST(Draws, TheGeneratorIsAdvancedAsAtensKernelsDo) {
  const auto increment = [](int64_t n, const std::string& dtype) {
    return rewritten(str_cat("graph 1 g() {\n  %0: ", dtype, "[", n, "]@cuda:0 = aten::rand(size=[",
                             n, "], dtype=", dtype,
                             ", layout=none, device=@cuda:0, pin_memory=none)\n  return %0\n}"),
                     0);
  };
  for (const auto& [elements, advanced] :
       {std::pair{1, 4}, {4096, 4}, {4 * 4096, 4}, {4 * 4096 + 1, 8}, {8 * 4096 + 1, 12}})
    EXPECT_THAT(increment(elements, "f32"), HasSubstr(str_cat("(increment=", advanced, ",")));
  EXPECT_THAT(increment(2 * 4096, "f64"), HasSubstr("(increment=4,"));
  EXPECT_THAT(increment(2 * 4096 + 1, "f64"), HasSubstr("(increment=8,"));
}

TEST(Draws, Distributions) {
  EXPECT_EQ(rewritten(R"(graph 1 g(x: f16[8]@cuda:0) {
    %0: f16[8]@cuda:0 = aten::uniform(x, from=-1.0, to=1.0, generator=none)
    %1: f16[8]@cuda:0 = aten::normal_functional(x, mean=1.0, std=2.0, generator=none)
    %2: f16[8]@cuda:0 = aten::bernoulli.p(x, p=0.5, generator=none)
    return %0, %1, %2
  })",
                      1),
            unchanged(R"(graph 1 g(x: f16[8]@cuda:0) {
    %0: i64[2] = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)  # aten::uniform
    %1: f16[8]@cuda:0 = torchdyn::philox_uniform(state=%0, size=[8], low=-1.0, high=1.0, threads=4096, dtype=f16, device=@cuda:0)  # aten::uniform
    %2: i64[2] = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)  # aten::normal_functional
    %3: f16[8]@cuda:0 = torchdyn::philox_normal(state=%2, size=[8], mean=1.0, std=2.0, threads=4096, dtype=f16, device=@cuda:0)  # aten::normal_functional
    %4: i64[2] = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)  # aten::bernoulli.p
    %5: f16[8]@cuda:0 = torchdyn::philox_bernoulli(state=%4, size=[8], p=0.5, threads=4096, dtype=f16, device=@cuda:0)  # aten::bernoulli.p
    return %1, %3, %5
  })"));
}

TEST(Draws, WhatMayDifferFromEagerStaysAsItIs) {
  const std::pair<const char*, int> graphs[] = {
      // On the CPU.
      {R"(graph 1 g(x: f32[8]) {
    %0: f32[8], %1: bool[8] = aten::native_dropout(input=x, p=0.5, train=true)
    return %0
  })",
       1},
      // Nothing is drawn.
      {R"(graph 1 g(x: f32[8]@cuda:0) {
    %0: f32[8]@cuda:0, %1: bool[8]@cuda:0 = aten::native_dropout(input=x, p=1.0, train=true)
    %2: f32[8]@cuda:0, %3: bool[8]@cuda:0 = aten::native_dropout(input=%0, p=0.5, train=false)
    return %0, %2
  })",
       1},
      // A part of an allocation, aligned or not.
      {R"(graph 1 g(x: f32[12]@cuda:0) {
    %0: f32[12]@cuda:0 = aten::relu(x)
    %1: f32[8]@cuda:0 = aten::slice.Tensor(%0, dim=0, start=3, end=11, step=1)
    %2: f32[8]@cuda:0, %3: bool[8]@cuda:0 = aten::native_dropout(input=%1, p=0.5, train=true)
    return %2
  })",
       1},
      // Sizes that another call has otherwise.
      {R"(graph 1 g(x: f32[s0]@cuda:0) {
    %0: f32[s0]@cuda:0, %1: bool[s0]@cuda:0 = aten::native_dropout(input=x, p=0.5, train=true)
    return %0
  })",
       1},
      // In a backward.
      {R"(graph 1 g(x: f32[8]@cuda:0, dy: f32[8]@cuda:0) {
    %0: f32[8]@cuda:0 = aten::relu(dy)
    %1: f32[8]@cuda:0, %2: bool[8]@cuda:0 = aten::native_dropout(input=x, p=0.5, train=true)
    return %0, %1
  })",
       1},
  };
  for (const auto& [text, primals] : graphs) EXPECT_EQ(rewritten(text, primals), unchanged(text));
}

TEST(Draws, NothingIsKnownOfADeviceThatIsNotThere) {
  const Graph graph = parsed(R"(graph 1 g(x: f32[8]@cuda:0) {
    %0: f32[8]@cuda:0, %1: bool[8]@cuda:0 = aten::native_dropout(input=x, p=0.5, train=true)
    return %0
  })");
  const auto nothing = [](const Device&) { return std::optional<int64_t>(); };
  EXPECT_EQ(print(draws_in_kernels(graph, {1, is_view, nothing})), print(graph));
}

}  // namespace
}  // namespace aten_bridge
