#include "aten_bridge/graph/graph.h"

#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/text.h"

namespace aten_bridge {
namespace {

const SymExpr s0 = SymExpr::symbol({'s', 0});

TEST(Graph, RemovesWhatNoOutputNeedsButKeepsEffects) {
  Graph g = *parse_graph(R"(graph 1 f(x: f32[2]) {
  %0: f32[2] = aten::neg(x)
  %1: f32[2] = aten::exp(%0)
  %2: f32[2] = aten::sin(x)
  %3: f32[2] = aten::bernoulli(%2)
  %4: f32[2] = aten::neg(x)
  return %4
})");
  g.remove_dead([](const Node& node) { return node.op == "aten::bernoulli"; });
  EXPECT_EQ(print(g), R"(graph 1 f(x: f32[2]) {
  %0: f32[2] = aten::sin(x)
  %1: f32[2] = aten::bernoulli(%0)
  %2: f32[2] = aten::neg(x)
  return %2
}
)");
}

TEST(Graph, HandlesSurviveAMove) {
  Graph g;
  Value x = g.add_input("x", {DType::kFloat64, {}, {}, {}});
  Graph moved = std::move(g);
  EXPECT_EQ(moved.inputs()[0], x);
  EXPECT_EQ(x.type().dtype, DType::kFloat64);
}

TEST(Graph, AskingForWhatIsNotThereIsAnInternalError) {
  Graph g;
  Node* n = g.add("aten::op", {}, {std::nullopt});
  EXPECT_THROW(n->arg("dim"), InternalError);
  EXPECT_THROW(n->output(0).type(), InternalError);
  EXPECT_THROW(n->output(1).type(), InternalError);
  EXPECT_THROW(Value().type(), InternalError);
}

TEST(Graph, MapsTensorsAndNothingElse) {
  Graph g;
  Value x = g.add_input("x", {}), y = g.add_input("y", {});
  const auto to_y = [&](Value) { return y; };
  const std::vector<std::optional<Value>> list = {x, std::nullopt}, of_y = {y, std::nullopt};
  EXPECT_EQ(map_tensors(ArgumentValue(x), to_y), ArgumentValue(y));
  EXPECT_EQ(map_tensors(ArgumentValue(list), to_y), ArgumentValue(of_y));
  EXPECT_EQ(map_tensors(ArgumentValue(SymExpr(3)), to_y), ArgumentValue(SymExpr(3)));
}

TEST(TensorType, RowMajorStrides) {
  EXPECT_EQ(contiguous_strides({2, s0, 4}), (std::vector<SymExpr>{s0 * 4, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 3}), (std::vector<SymExpr>{3, 3, 1}));
  EXPECT_TRUE(contiguous_strides({}).empty());
}

TEST(TensorType, ContiguityIgnoresStridesOfSizeOne) {
  EXPECT_TRUE(is_contiguous({DType::kFloat32, {}, {2, 1, 3}, {3, 77, 1}}));
  EXPECT_FALSE(is_contiguous({DType::kFloat32, {}, {2, 3}, {1, 2}}));
  EXPECT_TRUE(is_contiguous({DType::kFloat32, {}, {0, 3}, {1, 2}}));
  EXPECT_EQ(element_count({DType::kFloat32, {}, {s0, 3}, {3, 1}}), s0 * 3);
}

}  // namespace
}  // namespace aten_bridge
