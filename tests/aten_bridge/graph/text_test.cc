#include "aten_bridge/graph/text.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;

TensorType type_of(std::vector<SymExpr> sizes, DType dtype = DType::kFloat32) {
  TensorType type{dtype, {}, std::move(sizes), {}};
  type.strides = contiguous_strides(type.sizes);
  return type;
}

Graph parsed(std::string_view text) {
  absl::StatusOr<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// What an argument reads back as, printed in a graph of its own.
ArgumentValue round_trip(const ArgumentValue& value) {
  Graph g;
  g.add_input("x", type_of({2}));
  g.add("test::op", {{"a", value}}, {});
  const Graph again = parsed(print(g));
  EXPECT_EQ(print(again), print(g));
  return again.nodes().empty() ? ArgumentValue() : again.nodes()[0]->args.at(0).value;
}

constexpr std::string_view kEverything = R"(graph 1 forward(x: f32[8, 4], w: f32[4, 4]{1, 4}) {
  %0: f32[8, 4] = aten::mm(x, mat2=w)
  %1: f32[8, 4] = aten::mul.Tensor(%0, other=0.5)  # aten::gelu
  %2: f32[8], %3: i64[8] = aten::max.dim(%1, dim=1, keepdim=false)
  aten::_assert_async(%2)
  %4: f32[8, 4]@cuda:1, %5: none = test::op(tensors=[%1, none, x], shape=[8, -1], s="a\"\n")
  return %1, none, %2
}
)";

TEST(GraphText, RoundTrips) { EXPECT_EQ(print(parsed(kEverything)), kEverything); }

TEST(GraphText, ReadsTypesNamesAndOrigins) {
  const Graph g = parsed(kEverything);
  EXPECT_EQ(g.name, "forward");
  const Node& mm = *g.nodes()[0];
  EXPECT_EQ(std::get<Value>(mm.arg("mat2")), g.inputs()[1]);
  EXPECT_EQ(g.inputs()[1].type().strides, (std::vector<SymExpr>{1, 4}));
  EXPECT_EQ(mm.origin, "aten::mm");
  EXPECT_EQ(g.nodes()[1]->origin, "aten::gelu");
  EXPECT_EQ(g.nodes()[4]->outputs[0]->device, (Device{Device::Kind::kCuda, 1}));
  EXPECT_FALSE(g.nodes()[4]->outputs[1].has_value());
  EXPECT_FALSE(g.outputs()[1].has_value());
}

TEST(GraphText, SkipsCommentLinesAndSpace) {
  const Graph g = parsed(R"(
# what this shows
graph 1 f(
    x: f32[],   # the input
    y: f32[s0, 2*s0]
) {
  # a node
  %a: f32[] = aten::neg(
      x)
  return %a
})");
  EXPECT_EQ(print(g), R"(graph 1 f(x: f32[], y: f32[s0, 2*s0]) {
  %0: f32[] = aten::neg(x)
  return %0
}
)");
}

TEST(GraphText, LongHeadsTakeALineAnInput) {
  Graph g("f");
  for (int i = 0; i < 9; ++i) g.add_input("primal_" + std::to_string(i), type_of({128, 256}));
  const std::string text = print(g);
  EXPECT_THAT(text, HasSubstr("f(\n    primal_0: f32[128, 256],\n    primal_1"));
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(GraphText, DoublesReadBackExactly) {
  std::mt19937_64 random(1);
  std::vector<double> samples = {0.0,
                                 -0.0,
                                 1.0,
                                 0.1,
                                 1e300,
                                 -1e-300,
                                 std::numeric_limits<double>::denorm_min(),
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 1000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isnan(value)) samples.push_back(value);
  }
  for (double sample : samples) {
    const ArgumentValue again = round_trip(sample);
    ASSERT_TRUE(std::holds_alternative<double>(again)) << sample;
    const double value = std::get<double>(again);
    EXPECT_EQ(std::memcmp(&value, &sample, sizeof(value)), 0) << sample;
  }
  EXPECT_TRUE(std::isnan(std::get<double>(round_trip(std::nan("")))));
}

TEST(GraphText, EveryKindOfArgumentReadsBack) {
  const SymExpr s0 = SymExpr::symbol({'s', 0});
  const ArgumentValue samples[] = {
      std::monostate(),
      SymExpr(1),
      SymExpr(-7),
      s0 * 3 - 6,
      SymExpr(0) - s0,
      floor_div(s0, 2),
      min(s0, 4),
      std::vector<SymExpr>{},
      std::vector<SymExpr>{1, s0, -1},
      1.0,
      std::vector<double>{},
      std::vector<double>{1.0, -2.5, 1e30},
      true,
      false,
      std::vector<bool>{},
      std::vector<bool>{true, false},
      std::complex<double>(0.5, -1.0),
      std::string("a \"quoted\"\\ line\nwith \xff # no comment, ) ] }"),
      std::string(),
      DType::kBool,
      DType::kBFloat16,
      Device{},
      Device{Device::Kind::kCuda, 3},
      std::vector<std::optional<Value>>{},
      std::vector<std::optional<Value>>{std::nullopt, std::nullopt},
  };
  for (const ArgumentValue& sample : samples) {
    Graph g;
    g.add("test::op", {{"a", sample}}, {});
    EXPECT_EQ(round_trip(sample), sample) << print(g);
  }
}

TEST(GraphText, TensorArgumentsReadBack) {
  const Graph g = parsed(R"(graph 1 f(self: f32[2], x1: f32[2]) {
  %0: f32[2] = test::op(x1, a=self, b=[self, none, x1])
  %1: f32[2] = test::op([x1, %0], c=%0)
  return %1
}
)");
  const Node& first = *g.nodes()[0];
  EXPECT_EQ(std::get<Value>(first.arg("self")), g.inputs()[1]);
  EXPECT_EQ(first.inputs(),
            (std::vector<Value>{g.inputs()[1], g.inputs()[0], g.inputs()[0], g.inputs()[1]}));
  EXPECT_EQ(std::get<Value>(g.nodes()[1]->arg("c")), first.output(0));
  EXPECT_EQ(print(parsed(print(g))), print(g));
}

struct Bad {
  std::string_view text, message;
};

TEST(GraphText, ErrorsNameTheLineAndWhatWasExpected) {
  const Bad samples[] = {
      {"", "line 1: expected 'graph', found the end"},
      {"graph 2 f() {", "line 1: expected version 1, found '2 f() {'"},
      {"graph 1 f(x: q7[2]) {", "line 1: expected a type such as f32[8, 4], found 'q7[2]) {'"},
      {"graph 1 f(x: f32[2]{}) {", "line 1: sizes and strides differ in number"},
      {"graph 1 f() {\n  %0: f32[] = aten::neg(%7)\n", "line 2: %7 is not defined before its use"},
      {"graph 1 f() {\n  %0: f32[] = a::b()\n  %0: f32[] = a::b()\n",
       "line 3: %0 is defined twice"},
      {"graph 1 f() {\n  a::b(c=[1, 2.0])\n", "line 2: a list's items must all be"},
      {"graph 1 f() {\n  a::b(c=1.0.0)\n", "line 2: 1.0.0 is no double"},
      {"graph 1 f() {\n  a::b(c=\"x)\n", "line 2: expected a quoted string"},
      {"graph 1 f() {\n  a::b(c=foo)\n", "line 2: expected an integer expression, found 'foo)'"},
      {"graph 1 f() {\n  a::b(1 2)\n", "line 2: expected ')', found '2)'"},
      {"graph 1 f() {\n  return\n", "line 3: expected a tensor or none, found the end"},
      {"graph 1 f() {\n  a::b(c=[[1]])\n", "line 2: expected an integer expression, found '[1]])'"},
      {"graph 1 f() {\n  return\n}\nx", "line 4: expected the end, found 'x'"},
  };
  for (const Bad& bad : samples) {
    const absl::StatusOr<Graph> graph = parse_graph(bad.text);
    ASSERT_FALSE(graph.ok()) << bad.text;
    EXPECT_THAT(std::string(graph.status().message()), HasSubstr(std::string(bad.message)));
  }
}

TEST(GraphText, NoPrefixOfAGraphCrashesTheParser) {
  for (size_t n = 0; n + 2 < kEverything.size(); ++n)
    EXPECT_FALSE(parse_graph(kEverything.substr(0, n)).ok()) << n;
}

std::string fault_of(const Graph& g) { return std::string(verify(g).message()); }

TEST(Verify, AcceptsWhatKeepsTheLaw) { EXPECT_TRUE(verify(parsed(kEverything)).ok()); }

TEST(Verify, AValueIsDefinedBeforeItsUse) {
  Graph g, other;
  Value x = other.add_input("x", type_of({2}));
  g.add("aten::neg", {{"self", x}}, {type_of({2})});
  EXPECT_EQ(fault_of(g), "node 0 (aten::neg): uses a value that is not defined before it");
}

TEST(Verify, AnUndefinedOutputHasNoUse) {
  Graph g;
  Value x = g.add_input("x", type_of({2}));
  Node* n = g.add("test::op", {{"self", x}}, {std::nullopt});
  g.set_outputs({n->output(0)});
  EXPECT_EQ(fault_of(g), "result 0: uses output 0 of test::op, which is undefined");
  g.set_outputs({n->output(1)});
  EXPECT_EQ(fault_of(g), "result 0: uses output 1 of test::op, which has fewer");
}

TEST(Verify, NamesAreWordsThatMeanNothingElse) {
  for (const char* bad : {"", "1x", "a b", "none", "f32", "s0", "h[0]"}) {
    Graph g;
    g.add_input(bad, type_of({2}));
    EXPECT_THAT(fault_of(g), HasSubstr("not a name")) << bad;
  }
  Graph twice;
  twice.add_input("x", type_of({2}));
  twice.add_input("x", type_of({2}));
  EXPECT_EQ(fault_of(twice), "input x: stands twice");
}

TEST(Verify, TypesAreWhole) {
  Graph g;
  g.add_input("x", {DType::kFloat32, {}, {2, 3}, {1}});
  EXPECT_EQ(fault_of(g), "input x: sizes and strides differ in number");
  Graph negative;
  negative.add_input("x", {DType::kFloat32, {}, {-2}, {1}});
  EXPECT_EQ(fault_of(negative), "input x: a negative size, -2");
}

TEST(Verify, OperatorsAndArgumentsHaveNames) {
  Graph g;
  g.add("mm", {}, {});
  EXPECT_EQ(fault_of(g), "node 0 (mm): not an operator's name");
  Graph twice;
  twice.add("aten::op", {{"a", true}, {"a", true}}, {});
  EXPECT_EQ(fault_of(twice), "node 0 (aten::op): argument a stands twice");
}

}  // namespace
}  // namespace aten_bridge
