#include "aten_bridge/graph/min_cut.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "aten_bridge/base/check.h"

namespace aten_bridge {
namespace {

struct Edge {
  int from, to;
  int64_t capacity;
};

int64_t weight(const std::vector<Edge>& edges, const std::vector<bool>& beyond) {
  int64_t sum = 0;
  for (const Edge& e : edges)
    if (!beyond[e.from] && beyond[e.to]) sum += e.capacity;
  return sum;
}

std::vector<bool> cut(int vertices, const std::vector<Edge>& edges) {
  FlowNetwork network(vertices);
  for (const Edge& e : edges) network.add_edge(e.from, e.to, e.capacity);
  return network.sink_side(0, 1);
}

TEST(MinCut, CutsWhereTheEdgeIsNarrowest) {
  EXPECT_EQ(cut(4, {{0, 2, 5}, {2, 3, 1}, {3, 1, 4}}),
            (std::vector<bool>{false, true, false, true}));
}

TEST(MinCut, OfEqualCutsTakesTheOneNearestToTheSink) {
  EXPECT_EQ(cut(4, {{0, 2, 3}, {2, 3, 3}, {3, 1, 3}}),
            (std::vector<bool>{false, true, false, false}));
}

TEST(MinCut, WithoutAFiniteCutIsAnInternalError) {
  EXPECT_THROW(cut(2, {{0, 1, FlowNetwork::kInfinite}}), InternalError);
}

TEST(MinCut, FollowsAVeryLongWay) {
  std::vector<Edge> edges = {{0, 2, 9}};
  const int last = 200000;
  for (int v = 2; v < last; ++v) edges.push_back({v, v + 1, v == 1000 ? 1 : 2});
  edges.push_back({last, 1, 9});
  const std::vector<bool> beyond = cut(last + 1, edges);
  EXPECT_FALSE(beyond[1000]);
  EXPECT_TRUE(beyond[1001]);
}

TEST(MinCut, IsTheBestOfAllCuts) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const int vertices = 7;
    std::vector<Edge> edges;
    for (int i = 0; i < 14; ++i)
      edges.push_back({static_cast<int>(random() % vertices), static_cast<int>(random() % vertices),
                       static_cast<int64_t>(random() % 10)});
    int64_t best = FlowNetwork::kInfinite;
    for (unsigned side = 0; side < (1u << vertices); ++side) {
      std::vector<bool> beyond;
      for (int v = 0; v < vertices; ++v) beyond.push_back(side >> v & 1);
      if (!beyond[0] && beyond[1]) best = std::min(best, weight(edges, beyond));
    }
    const std::vector<bool> beyond = cut(vertices, edges);
    EXPECT_TRUE(!beyond[0] && beyond[1]);
    EXPECT_EQ(weight(edges, beyond), best) << "seed " << seed;
  }
}

}  // namespace
}  // namespace aten_bridge
