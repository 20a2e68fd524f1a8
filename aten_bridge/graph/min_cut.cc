#include "aten_bridge/graph/min_cut.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace aten_bridge {

void FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  edges_of_[from].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

// Dinic's algorithm: as long as the sink can be reached, fill the shortest ways to it.
std::vector<bool> FlowNetwork::sink_side(int source, int sink) {
  int64_t flow = 0;
  while (level_from(source, sink)) {
    flow += saturate(source, sink);
    TD_CHECK(flow < kInfinite, "no finite cut");
  }
  std::vector<bool> below(edges_of_.size());
  std::vector<int> reached = {sink};
  below[sink] = true;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (int e : edges_of_[reached[i]]) {
      const int from = edges_[e].to;
      if (below[from] || edges_[e ^ 1].residual == 0) continue;
      below[from] = true;
      reached.push_back(from);
    }
  }
  return below;
}

// Distances from the source over edges that have room; false when the sink is out of reach.
bool FlowNetwork::level_from(int source, int sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<int> reached = {source};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (int e : edges_of_[reached[i]]) {
      if (edges_[e].residual == 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[reached[i]] + 1;
      reached.push_back(edges_[e].to);
    }
  }
  return level_[sink] >= 0;
}

// Pushes flow until every way along the levels is blocked. Without recursion: ways are long.
int64_t FlowNetwork::saturate(int source, int sink) {
  std::vector<size_t> next(edges_of_.size(), 0);
  std::vector<int> way;  // edges from the source to v
  int64_t pushed = 0;
  for (int v = source;;) {
    if (v == sink) {
      const auto narrowest = std::min_element(way.begin(), way.end(), [&](int a, int b) {
        return edges_[a].residual < edges_[b].residual;
      });
      const int64_t amount = edges_[*narrowest].residual;
      for (int e : way) {
        edges_[e].residual -= amount;
        edges_[e ^ 1].residual += amount;
      }
      pushed += amount;
      v = edges_[*narrowest ^ 1].to;
      way.erase(narrowest, way.end());
      continue;
    }
    if (next[v] < edges_of_[v].size()) {
      const int e = edges_of_[v][next[v]];
      if (edges_[e].residual > 0 && level_[edges_[e].to] == level_[v] + 1) {
        way.push_back(e);
        v = edges_[e].to;
      } else {
        ++next[v];
      }
      continue;
    }
    if (way.empty()) return pushed;
    v = edges_[way.back() ^ 1].to;
    way.pop_back();
    ++next[v];
  }
}

}  // namespace aten_bridge
