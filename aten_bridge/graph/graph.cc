#include "aten_bridge/graph/graph.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"

namespace aten_bridge {

SymExpr element_count(const TensorType& type) { return product(type.sizes); }

std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes) {
  std::vector<SymExpr> strides(sizes.size());
  SymExpr stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (!(sizes[i] == 0)) stride = stride * sizes[i];
  }
  return strides;
}

bool is_contiguous(const TensorType& type) {
  if (element_count(type) == 0) return true;
  SymExpr expected = 1;
  for (size_t i = type.sizes.size(); i-- > 0;) {
    if (type.sizes[i] == 1) continue;
    if (!(type.strides[i] == expected)) return false;
    expected = expected * type.sizes[i];
  }
  return true;
}

const TensorType& Value::type() const {
  TD_CHECK(node != nullptr, "the type of no value");
  TD_CHECK(index >= 0 && static_cast<size_t>(index) < node->outputs.size(), node->op,
           " has no output ", index);
  const std::optional<TensorType>& type = node->outputs[index];
  TD_CHECK(type.has_value(), "output ", index, " of ", node->op, " is undefined");
  return *type;
}

std::vector<Value> Node::inputs() const {
  std::vector<Value> all;
  for (const Argument& a : args) {
    if (const auto* tensor = std::get_if<Value>(&a.value)) all.push_back(*tensor);
    if (const auto* list = std::get_if<std::vector<std::optional<Value>>>(&a.value))
      for (const std::optional<Value>& tensor : *list)
        if (tensor) all.push_back(*tensor);
  }
  return all;
}

const ArgumentValue& Node::arg(std::string_view name) const {
  auto found =
      std::find_if(args.begin(), args.end(), [&](const Argument& a) { return a.name == name; });
  TD_CHECK(found != args.end(), op, " has no argument ", name);
  return found->value;
}

Value Graph::add_input(std::string name, TensorType type) {
  auto node = std::make_unique<Node>();
  node->name = std::move(name);
  node->outputs.push_back(std::move(type));
  inputs_.push_back(node->output(0));
  input_nodes_.push_back(std::move(node));
  return inputs_.back();
}

Node* Graph::add(std::string op, std::vector<Argument> args,
                 std::vector<std::optional<TensorType>> outputs, std::string origin) {
  auto node = std::make_unique<Node>();
  node->origin = origin.empty() ? op : std::move(origin);
  node->op = std::move(op);
  node->args = std::move(args);
  node->outputs = std::move(outputs);
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

void Graph::set_outputs(std::vector<std::optional<Value>> outputs) {
  outputs_ = std::move(outputs);
}

void Graph::remove_dead(const std::function<bool(const Node&)>& has_effect) {
  HashSet<const Node*> needed;
  for (const std::optional<Value>& output : outputs_)
    if (output) needed.insert(output->node);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!needed.contains(node->get()) && !has_effect(**node)) continue;
    needed.insert(node->get());
    for (Value input : (*node)->inputs()) needed.insert(input.node);
  }
  std::erase_if(nodes_, [&](const auto& node) { return !needed.contains(node.get()); });
}

std::optional<double> dropout_of(const Node& node) {
  for (const Argument& a : node.args) {
    if (a.name != "dropout_p") continue;
    const auto* p = std::get_if<double>(&a.value);
    return p ? *p : 1;
  }
  return std::nullopt;
}

}  // namespace aten_bridge
