#include "aten_bridge/graph/partition.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/joint_analysis.h"
#include "aten_bridge/graph/min_cut.h"

namespace aten_bridge {
namespace {

using Outputs = std::vector<std::optional<Value>>;

// ---- What it costs, in bytes written, read or kept
// --------------------------------------------------

// A symbolic size counts as this much.
constexpr int64_t kAssumedSize = 128;

int64_t bytes(Value v) {
  const int64_t count = element_count(v.type()).evaluate([](Symbol) { return kAssumedSize; });
  return std::clamp<int64_t>(count * size_in_bytes(v.type().dtype), 1, int64_t{1} << 40);
}

// Keeping it until backward; what was fused away in forward must be written first. What is held
// anyway costs only its reading, which decides among such values.
int64_t cost_to_save(const JointAnalysis& a, Value v) {
  if (a.cost(v.node) == Recompute::kFree) return FlowNetwork::kInfinite;  // save what it views
  if (a.is_held(v)) return 1 + bytes(v) / 16;
  return a.is_stored_in_forward(v) ? bytes(v) : 2 * bytes(v);
}

// Running it again: arithmetic fused into a user costs an eighth of moving its result, so that no
// long chain runs again for little; a result that no user fuses is written and read.
int64_t cost_to_recompute(const JointAnalysis& a, const Node& node) {
  if (a.place(&node) == Place::kEither || a.cost(&node) == Recompute::kFree) return 0;
  if (a.cost(&node) != Recompute::kFusible) return FlowNetwork::kInfinite;
  int64_t sum = 1;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value v = node.output(static_cast<int>(i));
    if (node.outputs[i]) sum += bytes(v) / 8 + (a.is_stored_in_backward(v) ? 2 * bytes(v) : 0);
  }
  return sum;
}

// ---- The cut
// ----------------------------------------------------------------------------------------

// Every node that may run in forward is a vertex (beyond the cut: it runs in backward), and so is
// each of its outputs (beyond the cut: backward has it). Saved is what backward has without running
// it.
std::vector<Value> choose_saved(const Joint& joint, const JointAnalysis& analysis) {
  constexpr int kSource = 0, kSink = 1;
  std::vector<const Node*> nodes;  // in order, inputs first
  for (Value v : joint.graph.inputs()) nodes.push_back(v.node);
  for (const auto& node : joint.graph.nodes())
    if (analysis.place(node.get()) != Place::kNowhere) nodes.push_back(node.get());

  int vertices = 2;
  HashMap<const Node*, int> vertex_of;  // its outputs' vertices follow
  for (const Node* node : nodes) {
    if (analysis.place(node) == Place::kBackward) continue;
    vertex_of[node] = vertices;
    vertices += 1 + static_cast<int>(node->outputs.size());
  }
  const auto vertex = [&](Value v) { return vertex_of.at(v.node) + 1 + v.index; };
  const auto in_backward = [&](Value v) { return analysis.place(v.node) == Place::kBackward; };

  FlowNetwork network(vertices);
  for (const Node* node : nodes) {
    const bool backward = analysis.place(node) == Place::kBackward;
    const int self = backward ? kSink : vertex_of.at(node);
    for (Value v : node->inputs())
      if (!in_backward(v)) network.add_edge(vertex(v), self, FlowNetwork::kInfinite);
    if (backward) continue;
    network.add_edge(kSource, self, cost_to_recompute(analysis, *node));
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      const Value v = node->output(static_cast<int>(i));
      if (node->outputs[i]) network.add_edge(self, vertex(v), cost_to_save(analysis, v));
    }
  }
  for (const auto& v : analysis.gradients())
    if (v && !in_backward(*v)) network.add_edge(vertex(*v), kSink, FlowNetwork::kInfinite);

  const std::vector<bool> beyond = network.sink_side(kSource, kSink);
  std::vector<Value> saved;
  for (const Node* node : nodes) {
    if (analysis.place(node) == Place::kBackward || beyond[vertex_of.at(node)]) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i)
      if (const Value v = node->output(static_cast<int>(i)); beyond[vertex(v)]) saved.push_back(v);
  }
  return saved;
}

// ---- The two graphs
// ---------------------------------------------------------------------------------

class Splitter {
 public:
  Splitter(const Joint& joint, const JointAnalysis& analysis, std::vector<Value> saved)
      : joint_(joint), analysis_(analysis), saved_(std::move(saved)) {
    for (const auto& node : joint.graph.nodes())
      order_[node.get()] = static_cast<int>(order_.size());
  }

  Partition split() {
    Partition p;
    Outputs outputs = analysis_.results();
    for (Value v : saved_) p.saved.push_back(place_saved(v, outputs));
    p.forward = forward(outputs);
    p.backward = backward();
    return p;
  }

 private:
  // Among the primals, else among the outputs of forward, where it is added when it is not a
  // result.
  SavedValue place_saved(Value v, Outputs& outputs) const {
    const auto& inputs = joint_.graph.inputs();
    if (v.node->is_input())
      return {.primal =
                  static_cast<int>(std::find(inputs.begin(), inputs.end(), v) - inputs.begin())};
    const auto found = std::find(outputs.begin(), outputs.end(), v);
    const int result = static_cast<int>(found - outputs.begin());
    if (found == outputs.end()) outputs.push_back(v);
    return {.result = result};
  }

  Graph forward(const Outputs& outputs) const {
    Extract extract("forward");
    for (int i = 0; i < joint_.primals; ++i)
      extract.add_input(joint_.graph.inputs()[i].node->name, joint_.graph.inputs()[i]);
    HashSet<const Node*> wanted;
    for (const auto& v : outputs)
      if (v) wanted.insert(v->node);
    const auto& nodes = joint_.graph.nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (analysis_.place(it->get()) == Place::kForward) wanted.insert(it->get());
      if (wanted.contains(it->get()))
        for (Value v : (*it)->inputs()) wanted.insert(v.node);
    }
    for (const auto& node : nodes)
      if (wanted.contains(node.get())) extract.add(*node);
    return std::move(extract).finish(outputs);
  }

  // Nodes that only backward can run, in order; before each, what it needs computed again.
  Graph backward() const {
    Extract extract("backward");
    const std::vector<Value>& inputs = joint_.graph.inputs();
    HashSet<std::string> names;
    for (Value v : inputs) names.insert(v.node->name);
    for (size_t i = 0; i < saved_.size(); ++i) {
      std::string name = saved_[i].node->name;
      if (name.empty()) name = str_cat("saved_", i);
      while (!saved_[i].node->is_input() && !names.insert(name).second) name += "_";
      extract.add_input(name, saved_[i]);
    }
    for (size_t i = joint_.primals; i < inputs.size(); ++i)
      extract.add_input(inputs[i].node->name, inputs[i]);
    for (const auto& node : joint_.graph.nodes())
      if (analysis_.place(node.get()) == Place::kBackward) {
        for (Value v : node->inputs()) compute(v, extract);
        extract.add(*node);
      }
    for (const auto& v : analysis_.gradients())
      if (v) compute(*v, extract);
    return std::move(extract).finish(analysis_.gradients());
  }

  // Adds what is missing for the value, in the order of the joint graph.
  void compute(Value value, Extract& extract) const {
    std::vector<const Node*> missing;
    HashSet<const Node*> seen;
    const auto want = [&](Value v) {
      if (!extract.has(v) && seen.insert(v.node).second) missing.push_back(v.node);
    };
    want(value);
    for (size_t i = 0; i < missing.size(); ++i) {
      const Node& node = *missing[i];
      TD_CHECK(cost_to_recompute(analysis_, node) < FlowNetwork::kInfinite, node.op,
               " would run twice");
      for (Value v : node.inputs()) want(v);
    }
    std::sort(missing.begin(), missing.end(),
              [&](const Node* a, const Node* b) { return order_.at(a) < order_.at(b); });
    for (const Node* node : missing) extract.add(*node);
  }

  const Joint& joint_;
  const JointAnalysis& analysis_;
  const std::vector<Value> saved_;
  HashMap<const Node*, int> order_;
};

}  // namespace

std::vector<std::vector<int>> tangents_of_gradients(const Joint& joint) {
  const auto only = [](int t, int count) {
    std::vector<bool> one(count);
    one[t] = true;
    return one;
  };
  HashMap<const Node*, std::vector<bool>> behind;  // nodes that depend on any
  for (int t = 0; t < joint.tangents; ++t)
    behind[joint.graph.inputs()[joint.primals + t].node] = only(t, joint.tangents);
  for (const auto& node : joint.graph.nodes()) {
    std::vector<bool> all;
    for (const Value& input : node->inputs()) {
      const auto it = behind.find(input.node);
      if (it == behind.end()) continue;
      all.resize(joint.tangents);
      for (int t = 0; t < joint.tangents; ++t) all[t] = all[t] || it->second[t];
    }
    if (!all.empty()) behind.emplace(node.get(), std::move(all));
  }
  std::vector<std::vector<int>> found(joint.primals);
  for (int i = 0; joint.tangents > 0 && i < joint.primals; ++i) {
    const std::optional<Value>& gradient = joint.graph.outputs()[joint.results + i];
    if (!gradient) continue;
    const auto it = behind.find(gradient->node);
    for (int t = 0; t < joint.tangents; ++t)
      if (it == behind.end() || it->second[t]) found[i].push_back(t);
  }
  return found;
}

Partition partition(const Joint& joint, const RecomputeOf& recompute) {
  const JointAnalysis analysis(joint, recompute);
  return Splitter(joint, analysis, choose_saved(joint, analysis)).split();
}

}  // namespace aten_bridge
