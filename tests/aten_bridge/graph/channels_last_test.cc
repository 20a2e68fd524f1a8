// What it writes; that it computes the same is tests/torchdyn/channels_last_test.cc.
#include "aten_bridge/graph/channels_last.h"

#include <gtest/gtest.h>

#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

constexpr std::string_view kArguments =
    "bias=none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=false, "
    "output_padding=[0, 0], groups=1)\n";

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

bool is_relu(const Node& node) { return node.op == "aten::relu"; }

TEST(ChannelsLastGraph, CopiesWhereAnImageEntersAndLeaves) {
  const Graph graph = parsed(
      "graph 1 g(x: f32[2, 3, 8, 8], w: f32[4, 3, 3, 3]) {\n"
      "  %0: f32[2, 4, 8, 8] = aten::convolution(input=x, weight=w, " +
      std::string(kArguments) +
      "  %1: f32[2, 4, 8, 8] = aten::relu(%0)\n"
      "  return %1\n}\n");
  EXPECT_EQ(print(channels_last(graph, is_relu)),
            "graph 1 g(x: f32[2, 3, 8, 8], w: f32[4, 3, 3, 3]) {\n"
            "  %0: f32[2, 8, 8, 3]{192, 8, 1, 64} = aten::permute(x, dims=[0, 2, 3, 1])\n"
            "  %1: f32[2, 8, 8, 3] = aten::clone(%0, memory_format=0)\n"
            "  %2: f32[2, 3, 8, 8]{192, 1, 24, 3} = aten::permute(%1, dims=[0, 3, 1, 2])\n"
            "  %3: f32[4, 3, 3, 3]{27, 3, 1, 9} = aten::permute(w, dims=[0, 2, 3, 1])\n"
            "  %4: f32[4, 3, 3, 3] = aten::clone(%3, memory_format=0)\n"
            "  %5: f32[4, 3, 3, 3]{27, 1, 9, 3} = aten::permute(%4, dims=[0, 3, 1, 2])\n"
            "  %6: f32[2, 4, 8, 8]{256, 1, 32, 4} = aten::convolution(input=%2, weight=%5, " +
                std::string(kArguments) +
                "  %7: f32[2, 4, 8, 8]{256, 1, 32, 4} = aten::relu(%6)\n"
                "  %8: f32[2, 4, 8, 8] = aten::clone(%7, memory_format=0)\n"
                "  return %8\n}\n");
}

TEST(ChannelsLastGraph, ImagesOfUnknownSizesAndThoseThatLieSoStay) {
  for (const std::string x : {"f32[s0, 3, 8, 8]", "f32[2, 3, 8, 8]{192, 1, 24, 3}"}) {
    const std::string y = x[4] == 's' ? "f32[s0, 4, 8, 8]" : "f32[2, 4, 8, 8]{256, 1, 32, 4}";
    const Graph graph = parsed(
        "graph 1 g(x: " + x + ", w: f32[4, 3, 3, 3]{27, 1, 9, 3}) {\n  %0: " + y +
        " = aten::convolution(input=x, weight=w, " + std::string(kArguments) + "  return %0\n}\n");
    EXPECT_EQ(print(channels_last(graph, is_relu)), print(graph));
  }
}

// One filter a channel: on a GPU kernels of ours walk along the channels, and the gradient reads
// the same copy.
TEST(ChannelsLastGraph, FiltersOfSingleChannelsLieTogetherOnAGpu) {
  for (const std::string device : {"@cuda:0", ""}) {
    const std::string w = "f32[4, 1, 3, 3]" + device, y = "f32[2, 4, 8, 8]" + device;
    const std::string how =
        "stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=false, output_padding=[0, 0], "
        "groups=4";
    const Graph graph = channels_last(
        parsed("graph 1 g(x: " + y + ", w: " + w + ", g: " + y + ") {\n  %0: " + y +
               " = aten::convolution(input=x, weight=w, bias=none, " + how + ")\n  %1: " + y +
               ", %2: " + w +
               ", %3: none = aten::convolution_backward(grad_output=g, input=x, weight=w, "
               "bias_sizes=none, " +
               how + ", output_mask=[true, true, false])\n  return %0, %1, %2\n}\n"),
        is_relu);
    std::vector<Value> filters;
    for (const auto& node : graph.nodes())
      if (node->op.starts_with("aten::convolution"))
        filters.push_back(std::get<Value>(node->arg("weight")));
    ASSERT_EQ(filters.size(), 2u);
    EXPECT_EQ(filters[0], filters[1]);
    EXPECT_EQ(print(filters[0].type()),
              device.empty() ? w : "f32[4, 1, 3, 3]{1, 36, 12, 4}" + device);
  }
}

// Convolutions of 8 channels one after the other; the image is copied twice, the weights each.
Graph chain(int convolutions, const std::string& dtype, const std::string& device) {
  const auto type = [&](const std::string& sizes) { return dtype + "[" + sizes + "]" + device; };
  std::string inputs = "x: " + type("2, 8, 32, 32"), nodes, last = "x";
  for (int i = 0; i < convolutions; ++i) {
    const std::string number = std::to_string(i);
    inputs += ", w" + number + ": " + type("8, 8, 3, 3");
    nodes += "  %" + number + ": " + type("2, 8, 32, 32") + " = aten::convolution(input=" + last +
             ", weight=w" + number + ", " + std::string(kArguments);
    last = "%" + number;
  }
  return parsed("graph 1 g(" + inputs + ") {\n" + nodes + "  return " + last + "\n}\n");
}

bool is_asked_for(const Graph& graph) { return with_channels_last(graph, is_relu).has_value(); }

TEST(ChannelsLastGraph, HalfPrecisionOnAGpuAsksForIt) {
  EXPECT_TRUE(is_asked_for(chain(1, "bf16", "@cuda:0")));
  EXPECT_TRUE(is_asked_for(chain(1, "f16", "@cuda:0")));
  EXPECT_FALSE(is_asked_for(chain(8, "f32", "@cuda:0")));
}

TEST(ChannelsLastGraph, Float32OnACpuAsksForItWhereCopiesAreFew) {
  EXPECT_FALSE(is_asked_for(chain(1, "f32", "")));
  EXPECT_TRUE(is_asked_for(chain(8, "f32", "")));
  EXPECT_FALSE(is_asked_for(chain(8, "bf16", "")));
}

}  // namespace
}  // namespace aten_bridge
