// Programs of ATen operators as graphs: in-place forms, views and composite operators too, run by
// the dispatcher in order. Their text is a graph's (aten_bridge/graph/text.h).
//   Builder b("random_7");
//   Value x = b.input("w0", type), y = b.call("aten::tanh", {{"self", x}})[0];
//   Graph program = b.finish({y});
//   interpret(program, inputs_of(program));
//
// An input's name says what it holds:
//   w0     normal numbers; requires a gradient
//   x1     normal numbers, or zeros and ones of type bool
//   n2     integers from 1 to 4
//   i3_7   integers from 0 to 6: indices
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/graph.h"

namespace replay {

using Tensors = std::vector<at::Tensor>;

// Fresh tensors on the inputs' devices, the same values for the same program name.
Tensors inputs_of(const aten_bridge::Graph& program);

// Whether an operator's floating results hold what its arguments held, unrounded: the same in every
// correct implementation, so that code that branches on them does the same.
bool is_exact(const aten_bridge::Node& node);

// Writes a program and runs it along the way, so that each value's type is what eager makes.
class Builder {
 public:
  explicit Builder(std::string name) : program_(std::move(name)) {}

  aten_bridge::Value input(const std::string& name, const aten_bridge::TensorType& type);
  // Arguments that are not given are the schema's defaults. What eager raises comes through, and
  // then the program is as before. So it is where indices may be out of range (indices.h).
  std::vector<aten_bridge::Value> call(const std::string& op,
                                       std::vector<aten_bridge::Argument> given);
  const at::Tensor& tensor(aten_bridge::Value value) const { return tensors_.at(value); }
  // Whether no rounding went into a value, or into another that shares its memory.
  bool is_exact(aten_bridge::Value value) const;
  aten_bridge::Graph finish(std::vector<aten_bridge::Value> outputs);

 private:
  void check_indices(const aten_bridge::Node& node) const;

  aten_bridge::Graph program_;
  aten_bridge::HashMap<aten_bridge::Value, at::Tensor> tensors_;
  aten_bridge::HashMap<const void*, bool> is_rounded_;  // by storage
};

}  // namespace replay
