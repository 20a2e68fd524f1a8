#include "aten_bridge/graph/generalize.h"

#include <cmath>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"

#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

const std::vector<Samples> kPoints = {{8}, {13}, {22}, {35}};

std::vector<Graph> at_points(const std::function<std::string(int64_t)>& text) {
  std::vector<Graph> graphs;
  for (const Samples& point : kPoints) {
    auto graph = parse_graph(text(point[0]));
    EXPECT_TRUE(graph.ok()) << graph.status();
    graphs.push_back(*std::move(graph));
  }
  return graphs;
}

absl::StatusOr<Graph> generalized(const std::vector<Graph>& graphs) {
  std::vector<const Graph*> pointers;
  for (const Graph& graph : graphs) pointers.push_back(&graph);
  SizeFit fit(kPoints);
  return generalize(pointers, fit);
}

std::string flattened(int64_t n) {
  return absl::Substitute(R"(graph 1 g(x: f32[$0, 4, 2]) {
  %0: f32[$1] = aten::view(x, size=[$1])
  %1: f32[$1] = aten::div.Scalar(%0, other=$1)
  return %1
}
)",
                          n, 8 * n);
}

TEST(Generalize, PutsExpressionsInThePlaceOfSizes) {
  const auto graph = generalized(at_points(flattened));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(print(*graph), R"(graph 1 g(x: f32[s0, 4, 2]) {
  %0: f32[8*s0] = aten::view(x, size=[8*s0])
  %1: f32[8*s0] = aten::div.Scalar(%0, other=8*s0)
  return %1
}
)");
}

TEST(Generalize, SubstitutingASizeGivesThatSizesGraph) {
  const auto graph = generalized(at_points(flattened));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(print(substitute(*graph, {{Symbol{'s', 0}, 64}})), flattened(64));
}

std::string with_number(int64_t n, std::string_view dtype, double number) {
  return absl::Substitute(
      "graph 1 g(x: $0[$1]) {\n  %0: $0[$1] = aten::div.Scalar(x, other=$2)\n  return %0\n}\n",
      std::string(dtype), n,
      absl::StrFormat("%.17g", number) + (number == std::trunc(number) ? ".0" : ""));
}

TEST(Generalize, MakesACountOfElementsAnInt) {
  const auto graph =
      generalized(at_points([](int64_t n) { return with_number(n, "f32", n - 1.0); }));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_NE(print(*graph).find("other=s0 - 1"), std::string::npos) << print(*graph);
}

TEST(Generalize, MakesAFactorThatIsAQuotientADivision) {
  const auto graph = generalized(at_points([](int64_t n) {
    return absl::Substitute(
        "graph 1 g(x: f32[$0]) {\n  %0: f32[$0] = aten::mul.Scalar(x, other=$1)\n  return %0\n}\n",
        n, absl::StrFormat("%.17g", 2.0 / (n - 1)));
  }));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_NE(print(*graph).find("aten::div.Scalar(%0, other=s0 - 1)"), std::string::npos)
      << print(*graph);
}

TEST(Generalize, RefusesNumbersThatAreNoCounts) {
  const auto inverse =
      generalized(at_points([](int64_t n) { return with_number(n, "f32", 0.5 / n); }));
  EXPECT_FALSE(inverse.ok());
  const auto of_integers =
      generalized(at_points([](int64_t n) { return with_number(n, "i64", n); }));
  EXPECT_FALSE(of_integers.ok());
}

TEST(Generalize, RefusesGraphsOfOtherOperators) {
  const auto graph = generalized(at_points([](int64_t n) {
    return absl::Substitute(
        "graph 1 g(x: f32[$0]) {\n  %0: f32[$0] = aten::$1(x)\n  return %0\n}\n", n,
        n > 20 ? "exp" : "sin");
  }));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("aten::sin"), std::string::npos) << graph.status();
  EXPECT_NE(graph.status().message().find("aten::exp"), std::string::npos) << graph.status();
}

TEST(Generalize, RefusesSizesThatNothingExplains) {
  const auto graph = generalized(at_points([](int64_t n) {
    return absl::Substitute("graph 1 g(x: f32[$0]) {\n  return x\n}\n", n == 8    ? 1
                                                                        : n == 13 ? 7
                                                                        : n == 22 ? 3
                                                                                  : 1000003);
  }));
  EXPECT_FALSE(graph.ok());
}

}  // namespace
}  // namespace aten_bridge
