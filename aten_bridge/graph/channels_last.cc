#include "aten_bridge/graph/channels_last.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <variant>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/extract.h"
#include "aten_bridge/graph/generalize.h"

namespace aten_bridge {
namespace {

using Sizes = std::vector<SymExpr>;
using Dims = std::vector<int64_t>;

// Of sizes that are known: only then both layouts can be told apart.
bool is_convolution(const Node& node) {
  if (node.op != "aten::convolution" && node.op != "aten::convolution_backward") return false;
  const TensorType& type = node.inputs()[0].type();
  return type.sizes.size() == 4 && !has_symbols(type);
}

// The filters of a convolution that mixes no channels, on a GPU: there most run in kernels of ours.
std::optional<Value> filters_of_channels(const Node& node) {
  const Value weight = std::get<Value>(node.arg("weight"));
  const TensorType& type = weight.type();
  if (type.device.kind != Device::Kind::kCuda || has_symbols(type)) return std::nullopt;
  const bool is_alone = type.sizes[1] == SymExpr(1) && type.sizes[0].as_constant() > 1 &&
                        std::get<SymExpr>(node.arg("groups")) == type.sizes[0];
  return is_alone ? std::optional(weight) : std::nullopt;
}

// An image that has more than one channel and more than one place: else both layouts are one.
bool is_image(const TensorType& type) {
  return type.sizes.size() == 4 && !has_symbols(type) && type.sizes[1].as_constant() > 1 &&
         type.sizes[2].as_constant() * type.sizes[3].as_constant() > 1;
}

Sizes last_strides(const Sizes& s) { return {s[1] * s[2] * s[3], SymExpr(1), s[1] * s[3], s[1]}; }

TensorType as_last(TensorType type) {
  type.strides = last_strides(type.sizes);
  return type;
}

bool is_last(const TensorType& type) {
  return is_image(type) && type.strides == last_strides(type.sizes);
}

// The dimensions from the outermost to the innermost, where the elements lie without gaps.
std::optional<Dims> order_of(const TensorType& type) {
  Dims dims(type.sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::stable_sort(dims.begin(), dims.end(), [&](int64_t a, int64_t b) {
    return type.strides[a].as_constant() > type.strides[b].as_constant();
  });
  int64_t stride = 1;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    if (type.strides[*d] != stride && type.sizes[*d] != SymExpr(1)) return std::nullopt;
    stride *= type.sizes[*d].as_constant();
  }
  return dims;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& list, const Dims& dims) {
  std::vector<T> result;
  for (int64_t d : dims) result.push_back(list[static_cast<size_t>(d)]);
  return result;
}

class Rewriter {
 public:
  Rewriter(const Graph& graph, const WritesAnyStrides& writes_any_strides)
      : graph_(graph), writes_any_strides_(writes_any_strides) {}

  Graph rewrite() && {
    for (Value input : graph_.inputs()) extract_.add_input(input.node->name, input);
    for (const auto& node : graph_.nodes()) {
      if (is_convolution(*node)) {
        convolution(*node);
      } else if (!reads_others(*node)) {
        extract_.add(*node);
      } else if (!view(*node)) {
        kernel_or_call(*node);
      }
    }
    std::vector<std::optional<Value>> outputs;
    for (const auto& output : graph_.outputs()) {
      outputs.push_back(output);
      if (output) outputs.back() = original(*output);
    }
    Graph result = std::move(extract_).finish(graph_.outputs());
    result.set_outputs(std::move(outputs));
    result.name = graph_.name;
    return result;
  }

 private:
  // Whether some input lies otherwise than in the graph.
  bool reads_others(const Node& node) const {
    const std::vector<Value> inputs = node.inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](Value v) { return extract_.at(v).type().strides != v.type().strides; });
  }

  Value add(const std::string& op, std::vector<Argument> args, TensorType type) {
    return extract_.graph().add(op, std::move(args), {std::move(type)}, op)->output(0);
  }

  Value permute(Value value, const Dims& dims) {
    if (std::is_sorted(dims.begin(), dims.end())) return value;
    TensorType type = value.type();
    type.sizes = permuted(type.sizes, dims);
    type.strides = permuted(type.strides, dims);
    return add("aten::permute", {{"self", value}, {"dims", Sizes(dims.begin(), dims.end())}}, type);
  }

  // A copy whose elements lie in the order of the dimensions.
  Value in_order(Value value, const Dims& dims) {
    Dims back(dims.size());
    for (size_t d = 0; d < dims.size(); ++d)
      back[static_cast<size_t>(dims[d])] = static_cast<int64_t>(d);
    const Value outward = permute(value, dims);
    TensorType type = outward.type();
    type.strides = contiguous_strides(type.sizes);
    return permute(add("aten::clone", {{"self", outward}, {"memory_format", SymExpr(0)}}, type),
                   back);
  }

  // The copy of a value in the layout that the graph has it in.
  Value original(Value value) {
    const Value copy = extract_.at(value);
    if (copy.type().strides == value.type().strides) return copy;
    const auto [known, is_new] = originals_.try_emplace(value, copy);
    if (is_new) {
      const auto order = order_of(value.type());
      TD_CHECK(order, "a changed layout has gaps");
      known->second = in_order(copy, *order);
    }
    return known->second;
  }

  Value last(Value value) {
    const Value copy = extract_.at(value);
    if (!is_image(copy.type()) || is_last(copy.type())) return copy;
    const auto [known, is_new] = lasts_.try_emplace(value, copy);
    if (is_new) known->second = in_order(copy, {0, 2, 3, 1});
    return known->second;
  }

  template <class Map>
  void write(const Node& node, Map map, std::vector<std::optional<TensorType>> outputs) {
    std::vector<Argument> args = node.args;
    for (Argument& a : args) a.value = map_tensors(a.value, map);
    const Node* copy =
        extract_.graph().add(node.op, std::move(args), std::move(outputs), node.origin);
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      extract_.put(node.output(i), copy->output(i));
  }

  // Images that the node gives in rows, with channels last.
  static std::vector<std::optional<TensorType>> with_last(const Node& node) {
    std::vector<std::optional<TensorType>> outputs = node.outputs;
    for (auto& type : outputs)
      if (type && is_image(*type) && is_contiguous(*type)) type = as_last(*type);
    return outputs;
  }

  void convolution(const Node& node) {
    const std::optional<Value> filters = filters_of_channels(node);
    write(
        node, [&](Value v) { return v == filters ? channels_together(v) : last(v); },
        with_last(node));
  }

  // Filters, one a channel, with the channels together, as the kernels that walk along them read.
  Value channels_together(Value value) {
    const auto [known, is_new] = filters_.try_emplace(value, value);
    if (is_new) known->second = in_order(extract_.at(value), {1, 2, 3, 0});
    return known->second;
  }

  // A view of the copy, where the graph's has no gaps and so could be made again.
  bool view(const Node& node) {
    if (node.inputs().size() != 1 || node.outputs.size() != 1) return false;
    const Value self = node.inputs()[0];
    TensorType type = *node.outputs[0];
    if (has_symbols(type) || !order_of(type)) return false;
    const auto strides = strides_of_view(node, extract_.at(self).type());
    if (!strides) return false;
    type.strides = *strides;
    write(node, [&](Value v) { return extract_.at(v); }, {type});
    return true;
  }

  // A kernel of ours reads any layout, and writes images as it reads them.
  void kernel_or_call(const Node& node) {
    if (!writes_any_strides_(node))
      return write(
          node, [&](Value v) { return original(v); }, node.outputs);
    const std::vector<Value> inputs = node.inputs();
    const bool reads_last = std::any_of(inputs.begin(), inputs.end(), [&](Value v) {
      return is_last(extract_.at(v).type()) && !is_last(v.type());
    });
    write(
        node, [&](Value v) { return extract_.at(v); }, reads_last ? with_last(node) : node.outputs);
  }

  const Graph& graph_;
  const WritesAnyStrides& writes_any_strides_;
  Extract extract_{"channels_last"};
  HashMap<Value, Value> originals_, lasts_, filters_;  // copies in the other layout
};

bool is_fast_so(DType dtype, Device::Kind device) {
  return device == Device::Kind::kCuda ? dtype == DType::kBFloat16 || dtype == DType::kFloat16
                                       : dtype == DType::kFloat32;
}

// Null where there is none.
const Node* row_major_convolution(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!is_convolution(*node)) continue;
    const TensorType& type = node->inputs()[0].type();
    if (is_fast_so(type.dtype, type.device.kind) && is_image(type) && is_contiguous(type))
      return node.get();
  }
  return nullptr;
}

// A CPU's convolutions gain less. Training steps of networks, by the share of what is copied in
// what is convolved, ms over rows / channels last (2 cores, AVX-512): ResNet-50 0.06 8.0 / 4.7,
// MobileNet 0.06 12.8 / 11.7, GhostNet 0.1 33 / 28, DenseNet 0.2 6.6 / 4.7, RegNet 0.3 27.7 / 26.6,
// a U-Net with group norms 0.56 81 / 129, ResNet-18 on small images 2.4 65 / 82.
constexpr int64_t kConvolvedForACopy = 4;

int64_t elements(const TensorType& type) {
  return has_symbols(type) ? 0 : element_count(type).as_constant();
}

int64_t copied_elements(const Graph& graph) {
  int64_t sum = 0;
  for (const auto& node : graph.nodes())
    if (node->op == "aten::clone") sum += elements(*node->outputs[0]);
  return sum;
}

// Read and written by convolutions, without weights.
int64_t convolved_elements(const Graph& graph) {
  int64_t sum = 0;
  for (const auto& node : graph.nodes()) {
    if (!is_convolution(*node)) continue;
    if (node->op == "aten::convolution")
      sum += elements(node->inputs()[0].type()) + elements(*node->outputs[0]);
    else
      sum += 2 * elements(node->inputs()[0].type()) + 2 * elements(node->inputs()[1].type());
  }
  return sum;
}

}  // namespace

std::optional<Graph> with_channels_last(const Graph& graph,
                                        const WritesAnyStrides& writes_any_strides) {
  const Node* found = row_major_convolution(graph);
  if (!found) return std::nullopt;
  Graph last = channels_last(graph, writes_any_strides);
  const bool on_cpu = found->inputs()[0].type().device.kind == Device::Kind::kCpu;
  const int64_t copied = copied_elements(last) - copied_elements(graph);
  if (on_cpu && kConvolvedForACopy * copied > convolved_elements(graph)) return std::nullopt;
  return last;
}

Graph channels_last(const Graph& graph, const WritesAnyStrides& writes_any_strides) {
  return Rewriter(graph, writes_any_strides).rewrite();
}

}  // namespace aten_bridge
