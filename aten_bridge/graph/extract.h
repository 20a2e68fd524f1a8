// Copies a part of a graph into a new one, in the order of the calls.
//   Extract extract("forward");
//   extract.add_input("x", x);  extract.add(*node);  extract.put(y, z);   // z stands for y from
//   here Graph part = std::move(extract).finish({y});                      // verified
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/graph.h"

namespace aten_bridge {

class Extract {
 public:
  explicit Extract(std::string name) : graph_(std::move(name)) {}

  void add_input(const std::string& name, Value of) { put(of, graph_.add_input(name, of.type())); }
  bool has(Value v) const { return copies_.contains(v); }
  Value at(Value v) const { return copies_.at(v); }
  // What has a copy already keeps it.
  void put(Value of, Value copy) { copies_.try_emplace(of, copy); }
  void add(const Node& node);
  // The copy so far: what is added to it directly needs a `put`.
  Graph& graph() { return graph_; }
  Graph finish(const std::vector<std::optional<Value>>& outputs) &&;

 private:
  Graph graph_;
  HashMap<Value, Value> copies_;
};

}  // namespace aten_bridge
