#include "aten_bridge/graph/absent_tangents.h"

#include <algorithm>
#include <string_view>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/view_strides.h"

namespace aten_bridge {
namespace {

// Linear in this argument, whatever else the operator reads.
struct Linear {
  std::string_view op, argument;
};
constexpr Linear kLinear[] = {
    {"aten::_to_copy", "self"},   {"aten::bmm", "mat2"},         {"aten::bmm", "self"},
    {"aten::clone", "self"},      {"aten::div.Scalar", "self"},  {"aten::div.Tensor", "self"},
    {"aten::expand", "self"},     {"aten::mm", "mat2"},          {"aten::mm", "self"},
    {"aten::mul.Scalar", "self"}, {"aten::mul.Tensor", "other"}, {"aten::mul.Tensor", "self"},
    {"aten::neg", "self"},        {"aten::sum", "self"},         {"aten::sum.dim_IntList", "self"},
};

class Remover {
 public:
  explicit Remover(const Graph& graph) : graph_(graph) {}

  Graph remove(const std::vector<bool>& given) && {
    const std::vector<Value>& inputs = graph_.inputs();
    TD_CHECK(given.size() <= inputs.size(), "more tangents than inputs");
    const size_t saved = inputs.size() - given.size();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i < saved || given[i - saved]) {
        extract_.add_input(inputs[i].node->name, inputs[i]);
      } else {
        absent_.insert(inputs[i]);
      }
    }
    for (const auto& node : graph_.nodes())
      if (!is_absent(*node) && !is_other_addend(*node)) add(*node);
    std::vector<std::optional<Value>> outputs = graph_.outputs();
    for (auto& output : outputs)
      if (output && absent_.contains(*output)) output.reset();
    Graph less = std::move(extract_).finish(outputs);
    less.name = graph_.name;
    return less;
  }

 private:
  bool is_absent(const ArgumentValue& argument) const {
    const auto* value = std::get_if<Value>(&argument);
    return value != nullptr && absent_.contains(*value);
  }

  bool is_linear_in_absent(const Node& node) const {
    if (is_known_view(node)) return is_absent(node.arg("self"));
    // A derivative's first argument is the gradient that it hands on.
    if (node.op.find("_backward") != std::string::npos) return is_absent(node.args[0].value);
    if (node.op == "aten::add.Tensor")
      return is_absent(node.arg("self")) && is_absent(node.arg("other"));
    return std::any_of(std::begin(kLinear), std::end(kLinear), [&](const Linear& row) {
      return row.op == node.op && is_absent(node.arg(row.argument));
    });
  }

  bool is_absent(const Node& node) {
    if (!is_linear_in_absent(node)) return false;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) absent_.insert(node.output(i));
    return true;
  }

  // A sum that has the other addend's type is it.
  bool is_other_addend(const Node& node) {
    if (node.op != "aten::add.Tensor") return false;
    const bool self = is_absent(node.arg("self"));
    if (!self && !is_absent(node.arg("other"))) return false;
    const auto* other = std::get_if<Value>(&node.arg(self ? "other" : "self"));
    const auto* alpha = std::get_if<SymExpr>(&node.arg("alpha"));
    const bool is_same = other != nullptr && other->type() == *node.outputs[0] &&
                         !extract_.at(*other).node->is_input() && alpha && *alpha == SymExpr(1);
    if (is_same) extract_.put(node.output(0), extract_.at(*other));
    return is_same;
  }

  void add(const Node& node) {
    for (Value input : node.inputs())
      if (absent_.contains(input) && !extract_.has(input)) extract_.put(input, zeros(input.type()));
    extract_.add(node);
  }

  Value full(const TensorType& type) {
    return extract_.graph()
        .add("aten::full",
             {{"size", type.sizes},
              {"fill_value", SymExpr(0)},
              {"dtype", type.dtype},
              {"layout", SymExpr(0)},
              {"device", type.device},
              {"pin_memory", ArgumentValue()}},
             {type}, "aten::full")
        ->output(0);
  }

  Value zeros(const TensorType& type) {
    if (is_contiguous(type)) return full(type);
    TensorType storage = type;
    SymExpr extent = 1;
    for (size_t d = 0; d < type.sizes.size(); ++d)
      extent += (type.sizes[d] - SymExpr(1)) * type.strides[d];
    storage.sizes = {extent};
    storage.strides = {1};
    return extract_.graph()
        .add("aten::as_strided",
             {{"self", full(storage)},
              {"size", type.sizes},
              {"stride", type.strides},
              {"storage_offset", ArgumentValue()}},
             {type}, "aten::as_strided")
        ->output(0);
  }

  const Graph& graph_;
  aten_bridge::HashSet<Value> absent_;
  Extract extract_{"backward"};
};

}  // namespace

std::vector<bool> likely_tangents(const Joint& joint) {
  std::vector<bool> is_number;
  for (int i = 0; i < joint.tangents; ++i)
    is_number.push_back(joint.graph.inputs()[joint.primals + i].type().sizes.empty());
  const bool any = std::find(is_number.begin(), is_number.end(), true) != is_number.end();
  return any ? is_number : std::vector<bool>(is_number.size(), true);
}

Graph without_tangents(const Graph& backward, const std::vector<bool>& given) {
  return Remover(backward).remove(given);
}

}  // namespace aten_bridge
