#include "aten_bridge/trace/interpret.h"

#include <algorithm>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/reads_grad_mode.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"

namespace aten_bridge {
namespace {

// The live values; one is dropped at its last use.
class Environment {
 public:
  explicit Environment(const Graph& graph) {
    for (const auto& node : graph.nodes())
      for (const Value& used : node->inputs()) ++uses_[used];
    for (const auto& output : graph.outputs())
      if (output) ++uses_[*output];
  }

  void define(Value value, at::Tensor tensor) {
    if (uses_.contains(value)) tensors_.emplace(value, std::move(tensor));
  }

  at::Tensor use(Value value) {
    const auto found = tensors_.find(value);
    TD_CHECK(found != tensors_.end(), "an undefined value is used");
    if (--uses_[value] > 0) return found->second;
    at::Tensor last = std::move(found->second);
    tensors_.erase(found);
    return last;
  }

 private:
  HashMap<Value, int> uses_;
  HashMap<Value, at::Tensor> tensors_;
};

}  // namespace

std::vector<at::Tensor> run_node(const Node& node, absl::FunctionRef<at::Tensor(Value)> tensor_of) {
  const c10::OperatorHandle op = find_operator(node.op);
  const auto& specs = op.schema().arguments();
  TD_CHECK(specs.size() == node.args.size(), node.op, " has other arguments");
  std::vector<c10::IValue> stack;
  for (size_t i = 0; i < specs.size(); ++i)
    stack.push_back(to_ivalue(node.args[i].value, specs[i], tensor_of));
  const bool keeps = reads_grad_mode(node.op) && node.outputs.back();
  const c10::AutoGradMode mode(keeps || c10::GradMode::is_enabled());
  // A gradient like silu_backward has none of its own in ATen, but a form that others make up.
  constexpr auto kMadeUp = c10::DispatchKey::CompositeImplicitAutograd;
  if (c10::GradMode::is_enabled() && op.hasKernelForDispatchKey(kMadeUp))
    op.callBoxedForDispatchKey(kMadeUp, stack);
  else
    op.callBoxed(&stack);
  return flatten(stack);
}

std::vector<at::Tensor> interpret(const Graph& graph, std::vector<at::Tensor> inputs) {
  TD_CHECK(inputs.size() == graph.inputs().size(), "a tensor for each graph input");
  Environment environment(graph);
  for (size_t i = 0; i < inputs.size(); ++i)
    environment.define(graph.inputs()[i], std::move(inputs[i]));
  for (const auto& node : graph.nodes()) {
    int output = 0;
    for (at::Tensor& result : run_node(*node, [&](Value v) { return environment.use(v); }))
      environment.define(node->output(output++), std::move(result));
  }
  std::vector<at::Tensor> outputs;
  for (const auto& output : graph.outputs())
    outputs.push_back(output ? environment.use(*output) : at::Tensor());
  return outputs;
}

}  // namespace aten_bridge
