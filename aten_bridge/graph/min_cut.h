// The cheapest set of edges that parts a source from a sink.
//   FlowNetwork network(2 + n);                    // vertices 0 to n + 1
//   network.add_edge(0, 2, FlowNetwork::kInfinite);
//   network.add_edge(2, 1, 100);
//   std::vector<bool> below = network.sink_side(0, 1);   // below[v]: v lies beyond the cut
#pragma once

#include <cstdint>
#include <vector>

namespace aten_bridge {

class FlowNetwork {
 public:
  // Never cut. The finite capacities must add up to less.
  static constexpr int64_t kInfinite = int64_t{1} << 61;

  explicit FlowNetwork(int vertices) : edges_of_(vertices) {}
  void add_edge(int from, int to, int64_t capacity);
  // Of all minimum cuts, the one nearest to the sink; so the result depends on nothing but the
  // network. Checked: a finite cut exists. Uses the network up.
  std::vector<bool> sink_side(int source, int sink);

 private:
  struct Edge {  // edges[i ^ 1] runs the other way
    int to;
    int64_t residual;
  };
  bool level_from(int source, int sink);
  int64_t saturate(int source, int sink);

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
};

}  // namespace aten_bridge
