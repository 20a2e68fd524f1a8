// Graph: what a program computes with tensors, as pure operators in order.
//   Graph g("forward");
//   Value x = g.add_input("x", type), w = g.add_input("w", type);
//   Node* n = g.add("aten::add.Tensor", {{"self", x}, {"other", w}, {"alpha", SymExpr(1)}},
//   {type}); g.set_outputs({n->output(0)});
//
// Law
//  - Nodes stand in execution order; a node uses values of earlier nodes and of inputs only.
//  - Every operator is functional: it changes none of its arguments. An output may alias an
//  argument
//    where the operator's schema says so (views); whoever runs the graph may share or copy.
//  - Random operators run exactly once each and in order; they draw from the generator as eager
//  does.
//  - An operator is named by schema and overload ("aten::add.Tensor"); arguments are all there, in
//    schema order, defaults included. A tensor-list result is flattened into outputs.
//  - An output without type is undefined (an optional gradient that was not asked for) and has no
//  use.
//  - Each value's type (dtype, device, sizes, strides) is what eager would have given it.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "aten_bridge/base/dtype.h"
#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

struct Device {
  enum class Kind : uint8_t { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

struct TensorType {
  DType dtype = DType::kFloat32;
  Device device;
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;  // in elements
  bool operator==(const TensorType&) const = default;
};

SymExpr element_count(const TensorType& type);
// Row-major strides for sizes; as in ATen, a size of 0 counts as 1.
std::vector<SymExpr> contiguous_strides(const std::vector<SymExpr>& sizes);
// Whether the elements lie in row-major order without gaps; strides of dimensions of size 1 may be
// any.
bool is_contiguous(const TensorType& type);

// An operator's argument, over what stands for a tensor: a Value in a Graph, a strided reference to
// a buffer below it. Scalars (at::Scalar) are int, double, bool or complex.
template <class Tensor>
using ArgumentOf =
    std::variant<std::monostate,                              // None
                 Tensor, std::vector<std::optional<Tensor>>,  // Tensor, Tensor[] and Tensor?[]
                 SymExpr, std::vector<SymExpr>,  // int, int[]; layouts and memory formats too
                 double, std::vector<double>, bool, std::vector<bool>, std::complex<double>,
                 std::string, DType, Device>;

// The same argument over what `map` makes of each tensor, in order.
template <class From, class Map>
auto map_tensors(const ArgumentOf<From>& argument, Map map) {
  using To = std::decay_t<std::invoke_result_t<Map&, const From&>>;
  return std::visit(
      [&](const auto& v) -> ArgumentOf<To> {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, From>) {
          return map(v);
        } else if constexpr (std::is_same_v<V, std::vector<std::optional<From>>>) {
          std::vector<std::optional<To>> list;
          for (const std::optional<From>& t : v)
            list.push_back(t ? std::optional<To>(map(*t)) : std::nullopt);
          return list;
        } else {
          return v;
        }
      },
      argument);
}

class Node;

// One output of a node, or a graph input (whose node is of the input kind). A handle; copy freely.
struct Value {
  Node* node = nullptr;
  int index = 0;
  bool operator==(const Value&) const = default;
  const TensorType& type() const;  // checked: must be defined
  template <typename H>
  friend H AbslHashValue(H h, const Value& v) {
    return H::combine(std::move(h), v.node, v.index);
  }
};

using ArgumentValue = ArgumentOf<Value>;

struct Argument {
  std::string name;  // as in the schema
  ArgumentValue value;
};

class Node {
 public:
  bool is_input() const { return op.empty(); }
  Value output(int i) const { return {const_cast<Node*>(this), i}; }
  // The tensors among the arguments, in order, lists included.
  std::vector<Value> inputs() const;
  const ArgumentValue& arg(std::string_view name) const;  // checked

  std::string op;    // "aten::mm"; empty for an input
  std::string name;  // an input's name; else empty
  std::vector<Argument> args;
  std::vector<std::optional<TensorType>> outputs;
  // The operator of the user's program that this node stems from ("aten::native_layer_norm");
  // equal to op where nothing was decomposed.
  std::string origin;
};

// The share that an operator drops out, as attention does; none where it has no such argument.
// Where it is 0, an operator that may draw random numbers draws none.
std::optional<double> dropout_of(const Node& node);

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name(std::move(name)) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  Value add_input(std::string name, TensorType type);
  Node* add(std::string op, std::vector<Argument> args,
            std::vector<std::optional<TensorType>> outputs, std::string origin = "");
  void set_outputs(std::vector<std::optional<Value>> outputs);

  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }  // without inputs
  const std::vector<std::optional<Value>>& outputs() const { return outputs_; }

  // Removes nodes that no output needs. Random operators stay: they advance the generator.
  void remove_dead(const std::function<bool(const Node&)>& has_effect);

  std::string name;

 private:
  std::vector<std::unique_ptr<Node>> input_nodes_;
  std::vector<Value> inputs_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::optional<Value>> outputs_;
};

}  // namespace aten_bridge
