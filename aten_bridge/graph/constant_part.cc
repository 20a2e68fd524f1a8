#include "aten_bridge/graph/constant_part.h"

#include <algorithm>
#include <memory>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/generalize.h"

namespace aten_bridge {

ConstantValues::ConstantValues(const Graph& graph, const std::vector<bool>& is_constant_input,
                               const RecomputeOf& recompute) {
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (is_constant_input[i]) values_.insert(graph.inputs()[i]);
  for (const auto& node : graph.nodes()) {
    if (recompute(*node) == Recompute::kForbidden || has_symbols(*node)) continue;
    const std::vector<Value> inputs = node->inputs();
    if (!std::all_of(inputs.begin(), inputs.end(), [&](Value v) { return contains(v); })) continue;
    for (int i = 0; i < static_cast<int>(node->outputs.size()); ++i)
      values_.insert(node->output(i));
  }
}

bool ConstantValues::contains(Value value) const { return values_.contains(value); }

namespace {

class Taking {
 public:
  Taking(const Graph& graph, const std::vector<bool>& is_constant_input,
         const RecomputeOf& recompute)
      : graph_(graph), recompute_(recompute), constants_(graph, is_constant_input, recompute) {
    for (Value input : graph.inputs()) rest_.add_input(input.node->name, input);
    for (const auto& v : graph.outputs())
      if (v) need(*v);
    for (const auto& node : graph.nodes())
      if (!is_constant(*node))
        for (Value v : node->inputs()) need(v);
  }

  ConstantPart take() && {
    ConstantPart part;
    for (size_t i = 0; i < folded_.size(); ++i) rest_.add_input(str_cat("folded", i), folded_[i]);
    for (const auto& node : graph_.nodes())
      if (!is_constant(*node) || repeated_.contains(node.get())) rest_.add(*node);
    std::vector<std::optional<Value>> results;
    for (const auto& v : graph_.outputs())
      results.push_back(v && is_folded(*v) ? std::optional(copied(*v)) : v);
    part.rest = std::move(rest_).finish(results);
    part.rest.name = graph_.name;
    part.constant = constant(part.used);
    return part;
  }

 private:
  bool is_constant(const Node& node) const {
    return !node.outputs.empty() && constants_.contains(node.output(0));
  }
  bool is_folded(Value v) const {
    return std::find(folded_.begin(), folded_.end(), v) != folded_.end();
  }

  // The rest reads this value.
  void need(Value v) {
    if (v.node->is_input() || !is_constant(*v.node)) return;
    if (recompute_(*v.node) == Recompute::kFree) {
      if (repeated_.insert(v.node).second)
        for (Value input : v.node->inputs()) need(input);
    } else if (!is_folded(v)) {
      folded_.push_back(v);
    }
  }

  // A result of its own; the value's name in the old graph is taken.
  Value copied(Value v) {
    Node* clone = rest_.graph().add(
        "aten::clone", {{"self", rest_.at(v)}, {"memory_format", ArgumentValue()}}, {v.type()});
    copies_.push_back(std::make_unique<Node>());
    copies_.back()->outputs = {v.type()};
    rest_.put(copies_.back()->output(0), clone->output(0));
    return copies_.back()->output(0);
  }

  Graph constant(std::vector<int>& used) const {
    Extract extract("constant");
    HashSet<const Node*> wanted;
    for (Value v : folded_) wanted.insert(v.node);
    const auto& nodes = graph_.nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it)
      if (wanted.contains(it->get()))
        for (Value v : (*it)->inputs()) wanted.insert(v.node);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Value input = graph_.inputs()[i];
      extract.add_input(input.node->name, input);
      if (wanted.contains(input.node)) used.push_back(static_cast<int>(i));
    }
    for (const auto& node : nodes)
      if (wanted.contains(node.get())) extract.add(*node);
    return std::move(extract).finish({folded_.begin(), folded_.end()});
  }

  const Graph& graph_;
  const RecomputeOf& recompute_;
  const ConstantValues constants_;
  Extract rest_{"rest"};
  std::vector<Value> folded_;                  // what is computed once
  HashSet<const Node*> repeated_;              // constant nodes that the rest has too
  std::vector<std::unique_ptr<Node>> copies_;  // stand for copied results
};

}  // namespace

ConstantPart take_constants(const Graph& graph, const std::vector<bool>& is_constant_input,
                            const RecomputeOf& recompute) {
  return Taking(graph, is_constant_input, recompute).take();
}

}  // namespace aten_bridge
