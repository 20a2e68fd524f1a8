// What the partition asks about a joint graph: where each node can run, and which values lie in
// memory whatever the partition decides.
//   JointAnalysis a(joint, recompute);
//   if (a.place(node) == Place::kBackward) ...
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/partition.h"

namespace aten_bridge {

// Where a node of the joint graph can run. `kEither` becomes the cut's choice.
enum class Place : uint8_t {
  kNowhere,   // dead
  kForward,   // a result or the generator's order needs it there; it may run again in backward
  kEither,    // only backward needs it, but it uses no tangent
  kBackward,  // uses a tangent, or draws random numbers after the forward ended
};

// Which nodes of a part of a graph need others across something that is not fused. A value with two
// such users, as a residual stream has, is written to memory: no kernel can hold them both.
class Separation {
 public:
  using Users = HashMap<Value, std::vector<const Node*>>;
  // `nodes` in order; `is_unfused` of those that stand in a kernel of their own.
  void build(const std::vector<const Node*>& nodes, const Users& users,
             const std::function<bool(const Node&)>& is_unfused);
  bool separates_users(Value v) const;

 private:
  using Bits = std::vector<uint64_t>;
  std::vector<int> users_of(Value v) const;

  const Users* users_ = nullptr;
  HashMap<const Node*, int> number_;
  std::vector<Bits> across_;  // of each node: what it reaches across something unfused
};

// What the joint graph says about its nodes; inputs included.
class JointAnalysis {
 public:
  JointAnalysis(const Joint& joint, const RecomputeOf& recompute);

  Recompute cost(const Node* node) const { return cost_.at(node); }
  Place place(const Node* node) const { return place_.at(node); }
  std::vector<std::optional<Value>> results() const {
    const std::vector<std::optional<Value>>& all = joint_.graph.outputs();
    return {all.begin(), all.begin() + joint_.results};
  }
  std::vector<std::optional<Value>> gradients() const {
    const std::vector<std::optional<Value>>& all = joint_.graph.outputs();
    return {all.begin() + joint_.results, all.end()};
  }

  // Whether the caller holds the value's memory anyway: a primal, a result, a result's base.
  bool is_held(Value v) const { return held_.contains(v); }
  // Whether forward writes the value to memory anyway.
  bool is_stored_in_forward(Value v) const {
    return is_held(v) || cost(v.node) != Recompute::kFusible ||
           has_unfused_user(v, {Place::kForward}) || forward_.separates_users(v);
  }
  // Whether backward must write the value to memory if it computes it.
  bool is_stored_in_backward(Value v) const {
    return returned_.contains(v) || has_unfused_user(v, {Place::kEither, Place::kBackward}) ||
           backward_.separates_users(v);
  }

 private:
  void find_places();
  void find_stored();
  void find_separated();
  void insert_with_bases(Value v, HashSet<Value>& set) const;
  bool any_input(const Node& node, Place place) const;
  bool has_unfused_user(Value v, std::initializer_list<Place> places) const;

  const Joint& joint_;
  HashMap<const Node*, Recompute> cost_;
  HashMap<const Node*, Place> place_;
  Separation::Users users_;
  HashSet<Value> held_, returned_;
  Separation forward_, backward_;
};

}  // namespace aten_bridge
