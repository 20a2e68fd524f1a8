#include "aten_bridge/graph/joint_analysis.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace aten_bridge {

JointAnalysis::JointAnalysis(const Joint& joint, const RecomputeOf& recompute) : joint_(joint) {
  const Graph& g = joint.graph;
  TD_CHECK(g.inputs().size() == static_cast<size_t>(joint.primals + joint.tangents),
           "a joint graph's inputs are the primals and the tangents");
  TD_CHECK(g.outputs().size() == static_cast<size_t>(joint.results + joint.primals),
           "a joint graph's outputs are the results and one gradient a primal");
  for (int i = 0; i < static_cast<int>(g.inputs().size()); ++i) {
    const Node* input = g.inputs()[i].node;
    cost_[input] = Recompute::kForbidden;
    place_[input] = i < joint.primals ? Place::kForward : Place::kBackward;
  }
  for (const auto& node : g.nodes()) cost_[node.get()] = recompute(*node);
  find_places();
  for (const auto& node : g.nodes())
    if (place(node.get()) != Place::kNowhere)
      for (Value v : node->inputs()) users_[v].push_back(node.get());
  find_stored();
}

void JointAnalysis::find_places() {
  const auto& nodes = joint_.graph.nodes();
  bool forward_ended = false;
  for (const auto& node : nodes) {
    const bool uses_tangent = any_input(*node, Place::kBackward);
    forward_ended |= uses_tangent;
    const bool drawn_there = forward_ended && cost(node.get()) == Recompute::kForbidden;
    place_[node.get()] = uses_tangent || drawn_there ? Place::kBackward : Place::kNowhere;
  }

  absl::flat_hash_set<const Node*> of_forward, of_backward;  // who needs it
  for (const auto& v : results())
    if (v) of_forward.insert(v->node);
  for (const auto& v : gradients())
    if (v) of_backward.insert(v->node);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node* node = it->get();
    Place& place = place_[node];
    const bool draws = cost(node) == Recompute::kForbidden;
    auto& needed = place == Place::kBackward ? of_backward : of_forward;
    if (draws) needed.insert(node);
    if (of_forward.contains(node)) {
      TD_CHECK(place != Place::kBackward, "a forward result uses a tangent: ", node->op);
      place = Place::kForward;
    } else if (!of_backward.contains(node)) {
      place = Place::kNowhere;
    } else if (place == Place::kNowhere) {
      place = Place::kEither;
    }
    for (Value v : node->inputs()) {
      if (of_forward.contains(node)) of_forward.insert(v.node);
      if (of_backward.contains(node)) of_backward.insert(v.node);
    }
  }
}

void JointAnalysis::find_stored() {
  for (int i = 0; i < joint_.primals; ++i) held_.insert(joint_.graph.inputs()[i]);
  for (const auto& v : results())
    if (v) insert_with_bases(*v, held_);
  for (const auto& v : gradients())
    if (v) insert_with_bases(*v, returned_);
}

void JointAnalysis::insert_with_bases(Value v, absl::flat_hash_set<Value>& set) const {
  set.insert(v);
  while (cost(v.node) == Recompute::kFree && !v.node->inputs().empty())
    set.insert(v = v.node->inputs().front());
}

bool JointAnalysis::any_input(const Node& node, Place place) const {
  const std::vector<Value> inputs = node.inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](Value v) { return this->place(v.node) == place; });
}

// Whether a node in one of the places reads the value, or a view of it, from memory: reductions
// and pointwise operators fuse what they read.
bool JointAnalysis::has_unfused_user(Value v, std::initializer_list<Place> places) const {
  auto found = users_.find(v);
  if (found == users_.end()) return false;
  for (const Node* user : found->second) {
    if (cost(user) == Recompute::kFree) {
      for (size_t i = 0; i < user->outputs.size(); ++i)
        if (has_unfused_user(user->output(static_cast<int>(i)), places)) return true;
    } else if (cost(user) > Recompute::kReduction &&
               std::count(places.begin(), places.end(), place(user)) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace aten_bridge
