// The real values behind a recording, for operators that read them: item(), nonzero().
//   Evaluator evaluator(graph);
//   evaluator.define(graph.add_input("x", type), real_x);
//   at::Tensor y = evaluator.value(value);
//
// What the value needs is run in eager, each node once; random nodes run in the order of the graph,
// from the generators' states as they are, which are put back afterwards.
#pragma once

#include <optional>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/graph/graph.h"

namespace at {
class Tensor;
}
namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace aten_bridge {

class Evaluator {
 public:
  explicit Evaluator(const Graph& graph) : graph_(graph) {}

  void define(Value value, const at::Tensor& real);
  // CaptureError where it depends on a tangent or another input that nobody knows.
  at::Tensor value(Value value);
  // None where it depends on an input, on random numbers, or on what only a kernel knows that this
  // machine lacks.
  std::optional<at::Tensor> constant(Value value) const;
  // The operator's results on the real tensors behind the fakes among the arguments.
  std::vector<c10::IValue> call(const c10::OperatorHandle& op, std::vector<c10::IValue> args);

 private:
  void run(const Node& node);

  const Graph& graph_;
  HashMap<Value, at::Tensor> known_;
  HashSet<const Node*> ran_;
  std::vector<at::Tensor> drawn_;  // the generators' states behind the random nodes that ran
};

}  // namespace aten_bridge
