#include "aten_bridge/graph/pad_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr PaddingCosts kAlways{.least_operations = 0, .operations_per_byte = 0};

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

bool is_kernel(const Node& node) { return node.op == "aten::exp" || node.op == "aten::neg"; }

std::string padded(std::string_view text, const PaddingCosts& costs = kAlways) {
  return print(pad_products(parsed(text), is_kernel, costs));
}

std::string unchanged(std::string_view text) { return print(parsed(text)); }

TEST(PadProducts, AHeadsColumnsArePaddedAndCutOff) {
  for (const std::string transpose :
       {"aten::permute(w, dims=[1, 0])", "aten::t(w)", "aten::transpose.int(w, dim0=0, dim1=-1)"})
    EXPECT_EQ(
        padded("graph 1 g(x: bf16[64, 32], w: bf16[61, 32]) {\n  %0: bf16[32, 61]{1, 32} = " +
               transpose + R"(
    %1: bf16[64, 61] = aten::mm(x, mat2=%0)
    %2: bf16[64, 61] = aten::exp(%1)
    return %2
  })"),
        unchanged("graph 1 g(x: bf16[64, 32], w: bf16[61, 32]) {\n  %0: bf16[32, 61]{1, 32} = " +
                  transpose + R"(
    %1: bf16[64, 32] = aten::constant_pad_nd(w, pad=[0, 0, 0, 3], value=0)
    %2: bf16[32, 64]{1, 32} = aten::permute(%1, dims=[1, 0])
    %3: bf16[64, 64] = aten::mm(x, mat2=%2)
    %4: bf16[64, 61]{64, 1} = aten::slice.Tensor(%3, dim=1, start=0, end=61, step=1)
    %5: bf16[64, 61] = aten::exp(%4)
    return %5
  })"));
}

// d is a head's gradient: the inner dimension of one product, the rows of the other.
TEST(PadProducts, AMatrixIsPaddedOnceWhereItIsMadeForAllOfItsProducts) {
  EXPECT_EQ(padded(R"(graph 1 g(e: bf16[64, 61], w: bf16[61, 32], x: bf16[64, 32]) {
    %0: bf16[64, 61] = aten::exp(e)
    %1: bf16[64, 61] = aten::neg(%0)
    %2: bf16[64, 32] = aten::mm(%0, mat2=w)
    %3: bf16[61, 64]{1, 61} = aten::t(%0)
    %4: bf16[61, 32] = aten::mm(%3, mat2=x)
    return %1, %2, %4
  })"),
            unchanged(R"(graph 1 g(e: bf16[64, 61], w: bf16[61, 32], x: bf16[64, 32]) {
    %0: bf16[64, 61] = aten::exp(e)
    %1: bf16[64, 3] = aten::full(size=[64, 3], fill_value=0, dtype=bf16, layout=0, device=@cpu, pin_memory=none)
    %2: bf16[64, 64] = aten::cat(tensors=[%0, %1], dim=1)
    %3: bf16[64, 61] = aten::neg(%0)
    %4: bf16[64, 32] = aten::constant_pad_nd(w, pad=[0, 0, 0, 3], value=0)
    %5: bf16[64, 32] = aten::mm(%2, mat2=%4)
    %6: bf16[61, 64]{1, 61} = aten::t(%0)
    %7: bf16[64, 64]{1, 64} = aten::permute(%2, dims=[1, 0])
    %8: bf16[64, 32] = aten::mm(%7, mat2=x)
    %9: bf16[61, 32] = aten::slice.Tensor(%8, dim=0, start=0, end=61, step=1)
    return %3, %5, %9
  })"));
}

TEST(PadProducts, AResultKeepsItsStridesAndABiasIsPaddedToo) {
  EXPECT_EQ(padded(R"(graph 1 g(b: f16[13], x: f16[16, 8], w: f16[8, 13]) {
    %0: f16[16, 13] = aten::addmm(b, mat1=x, mat2=w, beta=1, alpha=1)
    %1: f16[16, 13] = aten::neg(%0)
    return %0, %1
  })"),
            unchanged(R"(graph 1 g(b: f16[13], x: f16[16, 8], w: f16[8, 13]) {
    %0: f16[16] = aten::constant_pad_nd(b, pad=[0, 3], value=0)
    %1: f16[8, 16] = aten::constant_pad_nd(w, pad=[0, 3, 0, 0], value=0)
    %2: f16[16, 16] = aten::addmm(%0, mat1=x, mat2=%1, beta=1, alpha=1)
    %3: f16[16, 13]{16, 1} = aten::slice.Tensor(%2, dim=1, start=0, end=13, step=1)
    %4: f16[16, 13] = aten::neg(%3)
    %5: f16[16, 13] = aten::clone(%3, memory_format=none)
    return %5, %4
  })"));
}

TEST(PadProducts, ViewsLieAsTheyDoInWhatIsPaddedAndReturnedOnesAreCopies) {
  EXPECT_EQ(padded(R"(graph 1 g(x: bf16[6, 32], w: bf16[32, 61]) {
    %0: bf16[6, 61] = aten::mm(x, mat2=w)
    %1: bf16[2, 3, 61] = aten::_unsafe_view(%0, size=[2, 3, 61])
    %2: bf16[2, 3, 61] = aten::exp(%1)
    return %1, %2
  })"),
            unchanged(R"(graph 1 g(x: bf16[6, 32], w: bf16[32, 61]) {
    %0: bf16[32, 64] = aten::constant_pad_nd(w, pad=[0, 3, 0, 0], value=0)
    %1: bf16[6, 64] = aten::mm(x, mat2=%0)
    %2: bf16[6, 61]{64, 1} = aten::slice.Tensor(%1, dim=1, start=0, end=61, step=1)
    %3: bf16[2, 3, 61]{192, 64, 1} = aten::_unsafe_view(%2, size=[2, 3, 61])
    %4: bf16[2, 3, 61] = aten::exp(%3)
    %5: bf16[2, 3, 61] = aten::clone(%3, memory_format=none)
    return %5, %4
  })"));
}

TEST(PadProducts, WhatNoViewGivesAndWhatAtenRunsReadsACopy) {
  EXPECT_EQ(padded(R"(graph 1 g(x: bf16[6, 32], w: bf16[32, 61]) {
    %0: bf16[6, 61] = aten::mm(x, mat2=w)
    %1: bf16[366] = aten::view(%0, size=[366])
    %2: bf16[366] = aten::exp(%1)
    %3: bf16[6, 61] = aten::cumsum(%0, dim=1, dtype=none)
    return %2, %3
  })"),
            unchanged(R"(graph 1 g(x: bf16[6, 32], w: bf16[32, 61]) {
    %0: bf16[32, 64] = aten::constant_pad_nd(w, pad=[0, 3, 0, 0], value=0)
    %1: bf16[6, 64] = aten::mm(x, mat2=%0)
    %2: bf16[6, 61]{64, 1} = aten::slice.Tensor(%1, dim=1, start=0, end=61, step=1)
    %3: bf16[6, 61] = aten::clone(%2, memory_format=none)
    %4: bf16[366] = aten::view(%3, size=[366])
    %5: bf16[366] = aten::exp(%4)
    %6: bf16[6, 61] = aten::cumsum(%3, dim=1, dtype=none)
    return %5, %6
  })"));
}

TEST(PadProducts, AlignedFloat32AndUnknownProductsStay) {
  for (std::string_view text : {
           "graph 1 g(x: bf16[61, 32], w: bf16[32, 64]) {\n"
           "  %0: bf16[61, 64] = aten::mm(x, mat2=w)\n  return %0\n}\n",
           "graph 1 g(x: f32[64, 32], w: f32[32, 61]) {\n"
           "  %0: f32[64, 61] = aten::mm(x, mat2=w)\n  return %0\n}\n",
           "graph 1 g(x: bf16[s0, 32], w: bf16[32, 61]) {\n"
           "  %0: bf16[s0, 61] = aten::mm(x, mat2=w)\n  return %0\n}\n",
           "graph 1 g(x: bf16[64, 32]{64, 2}, w: bf16[32, 61]) {\n"
           "  %0: bf16[64, 61] = aten::mm(x, mat2=w)\n  return %0\n}\n",
       })
    EXPECT_EQ(padded(text), unchanged(text));
}

TEST(PadProducts, OneThatDoesNotPayStays) {
  const auto head = [](int rows, bool returns_logits) {
    const std::string n = std::to_string(rows);
    return "graph 1 g(x: bf16[" + n + ", 768], w: bf16[768, 50257]) {\n  %0: bf16[" + n +
           ", 50257] = aten::mm(x, mat2=w)\n  %1: f32[" + n +
           "] = aten::sum.dim_IntList(%0, dim=[1], keepdim=false, dtype=f32)\n  return " +
           (returns_logits ? "%0" : "%1") + "\n}\n";
  };
  const std::string pads = "aten::constant_pad_nd";
  EXPECT_THAT(padded(head(8192, false), {}), HasSubstr(pads));
  EXPECT_THAT(padded(head(8192, true), {}), HasSubstr(pads));
  EXPECT_THAT(padded(head(16, false), {}), Not(HasSubstr(pads)));  // the weights cost more
  EXPECT_THAT(padded(head(128, true), {}), Not(HasSubstr(pads)));
}

TEST(PadProducts, WhatAKernelMakesCostsNothingToPad) {
  const auto head = [](const std::string& weights) {
    return padded("graph 1 g(x: bf16[512, 768], w: bf16[768, 50257]) {\n" + weights +
                      "  %1: bf16[512, 50257] = aten::mm(x, mat2=%0)\n  return %1\n}\n",
                  {});
  };
  EXPECT_THAT(head("  %0: bf16[768, 50257] = aten::exp(w)\n"), HasSubstr("aten::cat"));
  EXPECT_THAT(head("  %0: bf16[768, 50257] = aten::relu(w)\n"),  // no kernel here
              Not(HasSubstr("aten::constant_pad_nd")));
}

}  // namespace
}  // namespace aten_bridge
