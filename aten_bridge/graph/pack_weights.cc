#include "aten_bridge/graph/pack_weights.h"

#include "aten_bridge/graph/extract.h"

namespace aten_bridge {
namespace {

bool is_channels_last(const TensorType& type) {
  if (type.sizes.size() != 4 || is_contiguous(type)) return false;
  const auto& s = type.sizes;
  const std::vector<SymExpr> strides = {s[1] * s[2] * s[3], SymExpr(1), s[1] * s[3], s[1]};
  return type.strides == strides;
}

class Packer {
 public:
  Packer(const Graph& graph, const ConstantValues& constants)
      : graph_(graph), constants_(constants) {}

  Graph pack() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    for (const auto& node : graph_.nodes()) {
      if (can_pack(*node)) {
        write(*node);
      } else {
        extract_.add(*node);
      }
    }
    Graph packed = std::move(extract_).finish(graph_.outputs());
    packed.name = graph_.name;
    return packed;
  }

 private:
  bool can_pack(const Node& node) const {
    return node.op == "aten::convolution" && !std::get<bool>(node.arg("transposed")) &&
           constants_.contains(std::get<Value>(node.arg("weight"))) &&
           !constants_.contains(node.output(0)) && node.outputs[0]->dtype == DType::kFloat32 &&
           node.outputs[0]->device.kind == Device::Kind::kCpu && is_channels_last(*node.outputs[0]);
  }

  Value add(const Node& node, std::string op, std::vector<Argument> args, const TensorType& type) {
    return extract_.graph().add(std::move(op), std::move(args), {type}, node.origin)->output(0);
  }

  void write(const Node& node) {
    const Value x = std::get<Value>(node.arg("input"));
    const Value weight = extract_.at(std::get<Value>(node.arg("weight")));
    const ArgumentValue bias =
        map_tensors(node.arg("bias"), [&](Value v) { return extract_.at(v); });
    const auto arg = [&](const char* name) -> Argument { return {name, node.arg(name)}; };
    // The opaque tensors between have the type of the weight, as far as a graph can say.
    const TensorType& type = weight.type();
    const Value opaque =
        add(node, "aten::to_mkldnn", {{"self", weight}, {"dtype", ArgumentValue()}}, type);
    const Value packed = add(node, "aten::mkldnn_reorder_conv2d_weight",
                             {{"self", opaque},
                              arg("padding"),
                              arg("stride"),
                              arg("dilation"),
                              arg("groups"),
                              {"input_size", x.type().sizes}},
                             type);
    const Value result = add(node, "mkldnn::_convolution_pointwise",
                             {{"X", extract_.at(x)},
                              {"W", packed},
                              {"B", bias},
                              arg("padding"),
                              arg("stride"),
                              arg("dilation"),
                              arg("groups"),
                              {"attr", std::string("none")},
                              {"scalars", std::vector<double>()},
                              {"algorithm", std::string()}},
                             *node.outputs[0]);
    extract_.put(node.output(0), result);
  }

  const Graph& graph_;
  const ConstantValues& constants_;
  Extract extract_{"packed"};
};

}  // namespace

Graph pack_weights(const Graph& graph, const ConstantValues& constants) {
  return Packer(graph, constants).pack();
}

}  // namespace aten_bridge
