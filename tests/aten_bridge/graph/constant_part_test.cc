#include "aten_bridge/graph/constant_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/fold_affine.h"
#include "aten_bridge/graph/pack_weights.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Recompute recompute(const Node& node) {
  if (node.op == "aten::bernoulli") return Recompute::kForbidden;
  if (node.op == "aten::t" || node.op == "aten::full") return Recompute::kFree;
  return Recompute::kExpensive;
}

ConstantPart taken(std::string_view text, const std::vector<bool>& is_constant) {
  return take_constants(parsed(text), is_constant, recompute);
}

std::string folded(std::string_view text, const std::vector<bool>& is_constant) {
  const Graph graph = parsed(text);
  return print(fold_affine(graph, ConstantValues(graph, is_constant, recompute)));
}

TEST(ConstantPart, WhatDependsOnConstantsAloneBecomesAnInput) {
  const ConstantPart part = taken(R"(graph 1 g(x: f32[4], w: f32[4]) {
    %0: f32[4] = aten::exp(w)
    %1: f32[4] = aten::neg(%0)
    %2: f32[4] = aten::add.Tensor(x, other=%1, alpha=1)
    return %2
  })",
                                  {false, true});
  EXPECT_EQ(print(part.constant), R"(graph 1 constant(x: f32[4], w: f32[4]) {
  %0: f32[4] = aten::exp(w)
  %1: f32[4] = aten::neg(%0)
  return %1
}
)");
  EXPECT_EQ(print(part.rest), R"(graph 1 g(x: f32[4], w: f32[4], folded0: f32[4]) {
  %0: f32[4] = aten::add.Tensor(x, other=folded0, alpha=1)
  return %0
}
)");
  EXPECT_THAT(part.used, ElementsAre(1));
}

TEST(ConstantPart, ViewsAndFillsAreRepeatedWhereTheyAreUsed) {
  const ConstantPart part = taken(R"(graph 1 g(x: f32[4, 8], w: f32[2, 8]) {
    %0: f32[2, 8] = aten::exp(w)
    %1: f32[8, 2]{1, 8} = aten::t(%0)
    %2: f32[4, 2] = aten::mm(x, mat2=%1)
    %3: f32[4, 2] = aten::full(size=[4, 2], fill_value=1.0, dtype=f32, layout=none, device=@cpu, pin_memory=none)
    %4: f32[4, 2] = aten::add.Tensor(%2, other=%3, alpha=1)
    return %4
  })",
                                  {false, true});
  EXPECT_THAT(print(part.rest), AllOf(HasSubstr("aten::t(folded0)"), HasSubstr("aten::full"),
                                      Not(HasSubstr("folded1")), Not(HasSubstr("aten::exp"))));
}

TEST(ConstantPart, AViewOfAConstantIsNoReasonToFold) {
  const ConstantPart part = taken(R"(graph 1 g(x: f32[4, 8], w: f32[2, 8]) {
    %0: f32[8, 2]{1, 8} = aten::t(w)
    %1: f32[4, 2] = aten::mm(x, mat2=%0)
    return %1
  })",
                                  {false, true});
  EXPECT_THAT(part.constant.outputs(), IsEmpty());
  EXPECT_THAT(part.used, IsEmpty());
}

TEST(ConstantPart, RandomNumbersAreNoConstants) {
  const ConstantPart part = taken(R"(graph 1 g(w: f32[4]) {
    %0: f32[4] = aten::exp(w)
    %1: f32[4] = aten::bernoulli(%0, generator=none)
    return %1
  })",
                                  {true});
  EXPECT_THAT(print(part.rest), HasSubstr("aten::bernoulli(folded0"));
}

TEST(ConstantPart, AResultIsACopy) {
  const ConstantPart part = taken(R"(graph 1 g(x: f32[4], w: f32[4]) {
    %0: f32[4] = aten::exp(w)
    return %0, x, %0
  })",
                                  {false, true});
  EXPECT_EQ(print(part.rest), R"(graph 1 g(x: f32[4], w: f32[4], folded0: f32[4]) {
  %0: f32[4] = aten::clone(folded0, memory_format=none)
  %1: f32[4] = aten::clone(folded0, memory_format=none)
  return %0, x, %1
}
)");
}

constexpr std::string_view kConvolution =
    "aten::convolution(input=x, weight=w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, "
    "1], "
    "transposed=false, output_padding=[0, 0], groups=1)";

std::string with_convolution(std::string_view rest) {
  return str_cat(
      "graph 1 g(x: f32[2, 3, 5, 5], w: f32[4, 3, 1, 1], c: f32[4], d: f32[4, 1, 1]) {\n"
      "  %0: f32[2, 4, 5, 5] = ",
      kConvolution, "\n", rest, "}\n");
}

TEST(FoldAffine, ScalesAndShiftsGoIntoTheWeights) {
  const std::string text = folded(with_convolution(R"(
    %1: f32[1, 4, 1, 1] = aten::view(c, size=[1, 4, 1, 1])
    %2: f32[2, 4, 5, 5] = aten::sub.Tensor(%0, other=%1, alpha=1)
    %3: f32[2, 4, 5, 5] = aten::mul.Tensor(%2, other=d)
    %4: f32[2, 4, 5, 5] = aten::relu(%3)
    return %4
)"),
                                  {false, true, true, true});
  EXPECT_THAT(text, HasSubstr(R"(  %1: f32[4] = aten::reshape(%0, shape=[4])  # aten::sub.Tensor
  %2: f32[4] = aten::neg(%1)  # aten::sub.Tensor
  %3: f32[4] = aten::reshape(d, shape=[4])  # aten::mul.Tensor
  %4: f32[4, 1, 1, 1] = aten::reshape(%3, shape=[4, 1, 1, 1])  # aten::mul.Tensor
  %5: f32[4, 3, 1, 1] = aten::mul.Tensor(w, other=%4)
  %6: f32[4] = aten::mul.Tensor(%2, other=%3)
  %7: f32[2, 4, 5, 5] = aten::convolution(input=x, weight=%5, bias=%6,)"));
  EXPECT_THAT(text, HasSubstr("aten::relu(%7)"));
}

TEST(FoldAffine, AProductKeepsItsAddendApart) {
  const std::string text = folded(R"(graph 1 g(x: f32[2, 3], w: f32[3, 4], c: f32[4], d: f32[4]) {
    %0: f32[2, 4] = aten::mm(x, mat2=w)
    %1: f32[2, 4] = aten::add.Tensor(c, other=%0, alpha=1)
    %2: f32[2, 4] = aten::mul.Tensor(%1, other=d)
    return %2
  })",
                                  {false, true, true, true});
  EXPECT_THAT(text, HasSubstr(R"(  %3: f32[3, 4] = aten::mul.Tensor(w, other=%2)
  %4: f32[4] = aten::mul.Tensor(%0, other=%1)
  %5: f32[2, 4] = aten::mm(x, mat2=%3)
  %6: f32[2, 4] = aten::add.Tensor(%5, other=%4, alpha=1)  # aten::mul.Tensor
  return %6)"));
}

// Each of these differs from what is folded in one thing.
TEST(FoldAffine, WhatIsNoChainOfConstantsStays) {
  const std::vector<bool> constant = {false, true, true, true};
  for (std::string_view rest : {
           // used twice
           "  %1: f32[2, 4, 5, 5] = aten::mul.Tensor(%0, other=d)\n  return %1, %0\n",
           "  %1: f32[2, 4, 5, 5] = aten::mul.Tensor(%0, other=%0)\n  return %1\n",
           // another multiple of the addend
           "  %1: f32[2, 4, 5, 5] = aten::add.Tensor(%0, other=d, alpha=2)\n  return %1\n",
           // subtracted from
           "  %1: f32[2, 4, 5, 5] = aten::sub.Tensor(d, other=%0, alpha=1)\n  return %1\n",
           // along another dimension
           "  %1: f32[1, 1, 4, 1] = aten::view(c, size=[1, 1, 4, 1])\n"
           "  %2: f32[2, 4, 5, 5] = aten::mul.Tensor(%0, other=%1)\n  return %2\n",
       }) {
    const std::string text = with_convolution(rest);
    EXPECT_EQ(folded(text, constant), print(parsed(text))) << text;
  }
  const std::string inputs =
      with_convolution("  %1: f32[2, 4, 5, 5] = aten::mul.Tensor(%0, other=d)\n  return %1\n");
  EXPECT_EQ(folded(inputs, {false, false, true, true}), print(parsed(inputs)));
  EXPECT_EQ(folded(inputs, {false, true, true, false}), print(parsed(inputs)));
}

std::string convolution_graph(std::string_view strides, std::string_view dtype) {
  const std::string type = str_cat(dtype, "[2, 4, 3, 3]", strides);
  return str_cat("graph 1 g(x: ", type, ", w: ", dtype, "[4, 4, 1, 1]) {\n  %0: ", type, " = ",
                 kConvolution, "\n  return %0\n}\n");
}

std::string packed(const std::string& text, const std::vector<bool>& is_constant) {
  const Graph graph = parsed(text);
  return print(pack_weights(graph, ConstantValues(graph, is_constant, recompute)));
}

TEST(PackWeights, ChannelsLastConvolutionsReadWeightsInOneDnnsOrder) {
  const std::string text = packed(convolution_graph("{36, 1, 12, 4}", "f32"), {false, true});
  EXPECT_THAT(text, HasSubstr("%0: f32[4, 4, 1, 1] = aten::to_mkldnn(w, dtype=none)"));
  EXPECT_THAT(text,
              HasSubstr("= aten::mkldnn_reorder_conv2d_weight(%0, padding=[0, 0], "
                        "stride=[1, 1], dilation=[1, 1], groups=1, input_size=[2, 4, 3, 3])"));
  EXPECT_THAT(text, HasSubstr("%2: f32[2, 4, 3, 3]{36, 1, 12, 4} = "
                              "mkldnn::_convolution_pointwise(X=x, W=%1, B=none,"));
}

TEST(PackWeights, OthersStay) {
  for (const auto& [strides, dtype] : {std::pair("", "f32"), std::pair("{36, 1, 12, 4}", "f64")}) {
    const std::string text = convolution_graph(strides, dtype);
    EXPECT_EQ(packed(text, {false, true}), print(parsed(text)));
  }
  const std::string text = convolution_graph("{36, 1, 12, 4}", "f32");
  EXPECT_EQ(packed(text, {false, false}), print(parsed(text)));
}

}  // namespace
}  // namespace aten_bridge
