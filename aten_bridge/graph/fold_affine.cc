#include "aten_bridge/graph/fold_affine.h"

#include <algorithm>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/extract.h"

namespace aten_bridge {
namespace {

// One step of a chain: the value with a constant of its channels.
struct Step {
  enum class Kind { kAdd, kSubtract, kMultiply };
  Kind kind;
  Value constant;
  const Node* node;
};

// A convolution or product with constant weights, and the steps behind it.
struct Chain {
  const Node* source;
  int channel;  // dimension of the result
  std::vector<Step> steps;
};

bool is_one(const ArgumentValue& value) {
  const auto* integer = std::get_if<SymExpr>(&value);
  const auto* real = std::get_if<double>(&value);
  return (integer && *integer == SymExpr(1)) || (real && *real == 1);
}

std::optional<Step::Kind> kind_of(const Node& node) {
  if (node.op == "aten::mul.Tensor") return Step::Kind::kMultiply;
  if (node.op != "aten::add.Tensor" && node.op != "aten::sub.Tensor") return std::nullopt;
  if (!is_one(node.arg("alpha"))) return std::nullopt;
  return node.op == "aten::add.Tensor" ? Step::Kind::kAdd : Step::Kind::kSubtract;
}

// Whether `type` broadcasts along the one dimension `channel` of `result` and no other.
bool is_of_channels(const TensorType& type, const TensorType& result, int channel) {
  const int missing = static_cast<int>(result.sizes.size() - type.sizes.size());
  if (missing < 0 || channel < missing || type.dtype != result.dtype) return false;
  for (int d = missing; d < static_cast<int>(result.sizes.size()); ++d) {
    const SymExpr& size = type.sizes[d - missing];
    if (d == channel ? size != result.sizes[d] : size != SymExpr(1)) return false;
  }
  return true;
}

class Folder {
 public:
  Folder(const Graph& graph, const ConstantValues& constants)
      : graph_(graph), constants_(constants) {
    for (const auto& node : graph.nodes())
      for (Value v : node->inputs()) uses_[v].push_back(node.get());
    for (const auto& v : graph.outputs())
      if (v) uses_[*v].push_back(nullptr);
  }

  Graph fold() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    HashMap<const Node*, Chain> ends;  // by the last step's node
    HashSet<const Node*> parts;
    for (const auto& node : graph_.nodes()) {
      Chain chain = chain_from(*node);
      if (chain.steps.empty()) continue;
      parts.insert(chain.source);
      for (const Step& step : chain.steps) parts.insert(step.node);
      ends.emplace(chain.steps.back().node, std::move(chain));
    }
    for (const auto& node : graph_.nodes()) {
      if (const auto end = ends.find(node.get()); end != ends.end()) {
        write(end->second);
      } else if (!parts.contains(node.get())) {
        extract_.add(*node);
      }
    }
    Graph folded = std::move(extract_).finish(graph_.outputs());
    folded.name = graph_.name;
    return folded;
  }

 private:
  // A node whose result has channels made by constant weights; -1: not such a one.
  int channel_of(const Node& node) const {
    const auto is_constant = [&](std::string_view arg) {
      const auto* value = std::get_if<Value>(&node.arg(arg));
      return value == nullptr || constants_.contains(*value);
    };
    if (node.op == "aten::convolution" && is_constant("weight") && is_constant("bias") &&
        !std::get<bool>(node.arg("transposed")))
      return 1;
    if (node.op == "aten::mm" && is_constant("mat2")) return 1;
    return -1;
  }

  // The operand that is not `value`, where it is a constant of the channels.
  std::optional<Value> constant_beside(const Node& node, Value value, int channel) const {
    const auto* self = std::get_if<Value>(&node.arg("self"));
    const auto* other = std::get_if<Value>(&node.arg("other"));
    if (self == nullptr || other == nullptr || *self == *other) return std::nullopt;
    if (node.op == "aten::sub.Tensor" && *self != value) return std::nullopt;
    const Value constant = *self == value ? *other : *self;
    const bool fits = constants_.contains(constant) &&
                      is_of_channels(constant.type(), value.type(), channel) &&
                      *node.outputs[0] == value.type();
    return fits ? std::optional(constant) : std::nullopt;
  }

  // The node that alone uses the value; null where there is none, or the graph gives it.
  const Node* only_user(Value value) const {
    const auto uses = uses_.find(value);
    return uses != uses_.end() && uses->second.size() == 1 ? uses->second[0] : nullptr;
  }

  Chain chain_from(const Node& node) const {
    Chain chain{&node, channel_of(node), {}};
    if (chain.channel < 0) return chain;
    bool scales = node.op == "aten::convolution";
    for (Value value = node.output(0);;) {
      const Node* user = only_user(value);
      const auto kind = user ? kind_of(*user) : std::nullopt;
      const auto constant = kind ? constant_beside(*user, value, chain.channel) : std::nullopt;
      if (!constant) break;
      scales |= *kind == Step::Kind::kMultiply;
      chain.steps.push_back({*kind, *constant, user});
      value = user->output(0);
    }
    if (!scales) chain.steps.clear();
    return chain;
  }

  Value reshaped(Value v, std::vector<SymExpr> sizes) {
    TensorType type = v.type();
    type.sizes = sizes;
    type.strides = contiguous_strides(sizes);
    return extract_.graph()
        .add("aten::reshape", {{"self", v}, {"shape", std::move(sizes)}}, {type}, origin_)
        ->output(0);
  }

  Value apply(Step::Kind kind, Value a, Value b) {
    std::vector<Argument> args{{"self", a}, {"other", b}};
    if (kind != Step::Kind::kMultiply) args.push_back({"alpha", SymExpr(1)});
    const char* op = kind == Step::Kind::kAdd        ? "aten::add.Tensor"
                     : kind == Step::Kind::kSubtract ? "aten::sub.Tensor"
                                                     : "aten::mul.Tensor";
    return extract_.graph().add(op, std::move(args), {a.type()}, origin_)->output(0);
  }

  void write(const Chain& chain) {
    const Node& source = *chain.source;
    const bool is_conv = source.op == "aten::convolution";
    const std::string_view weight_arg = is_conv ? "weight" : "mat2";
    Value weight = extract_.at(std::get<Value>(source.arg(weight_arg)));
    const SymExpr channels = source.outputs[0]->sizes[chain.channel];
    std::vector<SymExpr> of_weight(weight.type().sizes.size(), SymExpr(1));
    of_weight[is_conv ? 0 : 1] = channels;
    std::optional<Value> bias;
    if (is_conv)
      if (const auto* own = std::get_if<Value>(&source.arg("bias"))) bias = extract_.at(*own);

    for (const Step& step : chain.steps) {
      origin_ = step.node->origin;
      const Value constant = reshaped(extract_.at(step.constant), {channels});
      if (step.kind == Step::Kind::kMultiply) {
        weight = apply(step.kind, weight, reshaped(constant, of_weight));
        if (bias) bias = apply(step.kind, *bias, constant);
      } else if (bias) {
        bias = apply(step.kind, *bias, constant);
      } else {
        bias = step.kind == Step::Kind::kAdd ? constant : negated(constant);
      }
    }
    const Value result = write_source(source, weight_arg, weight, bias, is_conv);
    extract_.put(chain.steps.back().node->output(0), result);
  }

  Value negated(Value v) {
    return extract_.graph().add("aten::neg", {{"self", v}}, {v.type()}, origin_)->output(0);
  }

  Value write_source(const Node& source, std::string_view weight_arg, Value weight,
                     std::optional<Value> bias, bool is_conv) {
    std::vector<Argument> args = source.args;
    for (Argument& a : args) {
      a.value = map_tensors(a.value, [&](Value v) { return extract_.at(v); });
      if (a.name == weight_arg) a.value = weight;
      if (a.name == "bias" && bias) a.value = *bias;
    }
    const Value result =
        extract_.graph().add(source.op, std::move(args), source.outputs, source.origin)->output(0);
    return bias && !is_conv ? apply(Step::Kind::kAdd, result, *bias) : result;
  }

  const Graph& graph_;
  const ConstantValues& constants_;
  Extract extract_{"folded"};
  HashMap<Value, std::vector<const Node*>> uses_;  // null: a result of the graph
  std::string origin_;
};

}  // namespace

Graph fold_affine(const Graph& graph, const ConstantValues& constants) {
  return Folder(graph, constants).fold();
}

}  // namespace aten_bridge
