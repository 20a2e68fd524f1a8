#include "aten_bridge/trace/evaluate.h"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/generators.h"
#include "aten_bridge/trace/interpret.h"

namespace aten_bridge {

void Evaluator::define(Value value, const at::Tensor& real) { known_.emplace(value, real); }

at::Tensor Evaluator::value(Value value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  if (value.node->is_input())
    throw CaptureError(
        "the backward, or the program at another size than the call's, reads a value on the host; "
        "compute with tensors instead");

  HashSet<const Node*> needed;
  std::vector<const Node*> waiting{value.node};
  const auto need = [&](const Node* node) {
    if (!node->is_input() && !ran_.contains(node) && needed.insert(node).second)
      waiting.push_back(node);
  };
  need(value.node);
  for (const auto& node : graph_.nodes()) {
    if (node.get() == value.node) break;
    if (draws_random_numbers(find_operator(node->op))) need(node.get());
  }
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    for (const Value& input : node->inputs()) need(input.node);
  }

  const c10::impl::ExcludeDispatchKeyGuard to_kernels(keys_down_to_fake());
  // Other threads may draw meanwhile: nothing is put back where nothing was drawn.
  std::optional<GeneratorStates> before;
  const bool draws = std::any_of(needed.begin(), needed.end(), [](const Node* node) {
    return draws_random_numbers(find_operator(node->op));
  });
  if (draws) before.emplace();
  if (draws && !drawn_.empty()) GeneratorStates::set(drawn_);
  for (const auto& node : graph_.nodes())
    if (needed.contains(node.get())) run(*node);
  if (draws) drawn_ = GeneratorStates::get();
  return known_.at(value);
}

void Evaluator::run(const Node& node) {
  int output = 0;
  for (at::Tensor& result : run_node(node, [&](Value input) { return value(input); })) {
    if (node.outputs[output]) define(node.output(output), result);
    ++output;
  }
  ran_.insert(&node);
}

std::optional<at::Tensor> Evaluator::constant(Value value) const {
  aten_bridge::HashSet<const Node*> needed{value.node};
  std::vector<const Node*> waiting{value.node};
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (node->is_input() || draws_random_numbers(find_operator(node->op))) return std::nullopt;
    for (const Value& input : node->inputs())
      if (needed.insert(input.node).second) waiting.push_back(input.node);
  }
  const c10::impl::ExcludeDispatchKeyGuard to_kernels(keys_down_to_fake());
  Evaluator evaluator(graph_);  // whose memory is given back
  try {
    for (const auto& node : graph_.nodes())
      if (needed.contains(node.get())) evaluator.run(*node);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
  return evaluator.known_.at(value);
}

std::vector<c10::IValue> Evaluator::call(const c10::OperatorHandle& op,
                                         std::vector<c10::IValue> args) {
  map_tensors(args, [&](const at::Tensor& t) { return is_fake(t) ? value(value_of(t)) : t; });
  const c10::impl::ExcludeDispatchKeyGuard to_kernels(keys_down_to_fake());
  op.callBoxed(&args);
  return args;
}

}  // namespace aten_bridge
