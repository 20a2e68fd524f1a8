#include "aten_bridge/graph/joint_analysis.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace aten_bridge {

void Separation::build(const std::vector<const Node*>& nodes, const Users& users,
                       const std::function<bool(const Node&)>& is_unfused) {
  users_ = &users;
  for (const Node* node : nodes) number_.emplace(node, static_cast<int>(number_.size()));
  const Bits none((nodes.size() + 63) / 64, 0);
  std::vector<Bits> reached(nodes.size(), none);
  across_.assign(nodes.size(), none);
  const auto add = [](Bits& to, const Bits& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] |= from[i];
  };
  for (size_t n = nodes.size(); n-- > 0;) {
    for (size_t i = 0; i < nodes[n]->outputs.size(); ++i) {
      for (int user : users_of(nodes[n]->output(static_cast<int>(i)))) {
        reached[n][user / 64] |= uint64_t{1} << (user % 64);
        add(reached[n], reached[user]);
        add(across_[n], is_unfused(*nodes[user]) ? reached[user] : across_[user]);
      }
    }
  }
}

std::vector<int> Separation::users_of(Value v) const {
  std::vector<int> found;
  const auto it = users_->find(v);
  if (it == users_->end()) return found;
  for (const Node* user : it->second)
    if (const auto number = number_.find(user); number != number_.end())
      found.push_back(number->second);
  return found;
}

bool Separation::separates_users(Value v) const {
  const std::vector<int> users = users_of(v);
  for (int a : users)
    for (int b : users)
      if (across_[a][b / 64] >> (b % 64) & 1) return true;
  return false;
}

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
  find_separated();
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

  HashSet<const Node*> of_forward, of_backward;  // who needs it
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

// In forward, and in a backward that runs again whatever it may.
void JointAnalysis::find_separated() {
  std::vector<const Node*> forward, backward;
  for (const auto& owned : joint_.graph.nodes()) {
    const Node* node = owned.get();
    if (place(node) == Place::kNowhere) continue;
    const bool again = cost(node) == Recompute::kFree || cost(node) == Recompute::kFusible;
    if (place(node) == Place::kForward) forward.push_back(node);
    if (place(node) != Place::kForward || again) backward.push_back(node);
  }
  const auto is_unfused = [&](const Node& node) { return cost(&node) > Recompute::kReduction; };
  forward_.build(forward, users_, is_unfused);
  backward_.build(backward, users_, is_unfused);
}

void JointAnalysis::insert_with_bases(Value v, HashSet<Value>& set) const {
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
