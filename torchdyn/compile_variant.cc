// The composition root: capture (aten_bridge), partition, compile (inductor), autograd node.
#include <algorithm>
#include <chrono>

#include <ATen/core/Tensor.h>

#include "aten_bridge/base/dump.h"
#include "aten_bridge/graph/partition.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/capture.h"
#include "inductor/compile.h"
#include "inductor/lowering/lowering.h"
#include "inductor/runtime/aten/run.h"
#include "torchdyn/variant.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::CompiledFunction;
using aten_bridge::DumpStage;
using aten_bridge::Graph;
using aten_bridge::Node;
using aten_bridge::Partition;
using aten_bridge::Value;
using inductor::CompiledGraph;

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// A primal that the call changes in place cannot be saved by reference: backward needs its old
// value.
void save_copies_of_mutated(Partition& partition, const Captured& captured) {
  for (auto& saved : partition.saved) {
    bool mutated = false;
    for (const auto& m : captured.mutations) mutated |= saved.primal == m.input;
    if (!mutated) continue;
    Graph& forward = partition.forward;
    const Value primal = forward.inputs()[saved.primal];
    Node* copy = forward.add("aten::clone",
                             {{"self", primal}, {"memory_format", aten_bridge::ArgumentValue()}},
                             {primal.type()}, "aten::clone");
    auto outputs = forward.outputs();
    saved = {.primal = -1, .result = static_cast<int>(outputs.size())};
    outputs.push_back(copy->output(0));
    forward.set_outputs(std::move(outputs));
  }
}

Partition split(const Captured& captured) {
  Partition partition = aten_bridge::partition(captured.joint, inductor::recompute_of);
  save_copies_of_mutated(partition, captured);
  return partition;
}

Explanation::Graph explain_graph(const Graph& graph, const CompiledGraph& compiled) {
  Explanation::Graph out;
  out.name = graph.name;
  out.text = print(graph);
  for (const auto& k : compiled.report.kernels)
    out.kernels.push_back({k.name, k.origins, k.launches, k.traffic.read + k.traffic.written});
  out.extern_calls = compiled.report.extern_calls;
  for (const auto& n : compiled.report.not_fused)
    out.not_fused.push_back(n.first + " and " + n.second + ": " + n.reason);
  out.rejected = compiled.report.rejected;
  return out;
}

aten_bridge::GraphRunner runner(std::shared_ptr<const CompiledGraph> compiled) {
  return [compiled = std::move(compiled)](std::vector<at::Tensor> inputs) {
    return inductor::run(*compiled, std::move(inputs));
  };
}

void show(DumpStage stage, const Graph& graph) {
  aten_bridge::dump(stage, graph.name, [&] { return print(graph); });
}

std::vector<aten_bridge::TensorType> tangent_types(const aten_bridge::Joint& joint) {
  std::vector<aten_bridge::TensorType> types;
  for (int i = 0; i < joint.tangents; ++i)
    types.push_back(joint.graph.inputs()[joint.primals + i].type());
  return types;
}

}  // namespace

std::unique_ptr<Variant> guard_call(const Call& call, const std::vector<std::string>& names) {
  auto variant = std::make_unique<Variant>();
  variant->host = HostGuards::record(call);
  variant->duplicates = Duplicates::find(call.tensors);
  const auto is_argument = [&](int tensor) {
    return static_cast<size_t>(tensor) < call.leaves.tensors.size();
  };
  const auto& tensor_of = variant->duplicates.tensor_of;  // arguments, then state
  const auto first_state = std::count_if(tensor_of.begin(), tensor_of.end(), is_argument);
  std::vector<at::Tensor> storage;
  variant->inputs = aten_bridge::InputGuards::record(
      variant->duplicates.inputs(call.tensors, storage), names, static_cast<size_t>(first_state));
  return variant;
}

TracedVariant trace_variant(std::unique_ptr<Variant> variant, const Call& call,
                            const std::vector<std::string>& names, internal::TraceRef trace,
                            Numerics numerics) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<at::Tensor> storage;
  const auto given = variant->duplicates.inputs(call.tensors, storage);
  const std::vector<at::Tensor> inputs(given.begin(), given.end());
  const size_t arguments = call.leaves.tensors.size();
  TracedVariant traced;
  const auto call_with = [&](const std::vector<at::Tensor>& fakes) {
    std::vector<at::Tensor> argument_fakes;
    for (size_t i = 0; i < arguments; ++i)
      argument_fakes.push_back(fakes[variant->duplicates.input_of[i]]);
    internal::Traced result = trace.call(trace.self, argument_fakes);
    variant->prototype = std::move(result.prototype);
    return std::move(result.tensors);
  };
  traced.captured = aten_bridge::capture({inputs, names}, call_with, numerics);
  variant->explanation.capture_ms = milliseconds_since(start);

  const Graph& joint = traced.captured.joint.graph;
  show(traced.trains() ? DumpStage::kJoint : DumpStage::kGraph, joint);
  if (traced.trains()) {
    traced.partition = split(traced.captured);
    show(DumpStage::kForward, traced.partition.forward);
    show(DumpStage::kBackward, traced.partition.backward);
  } else {
    traced.partition.forward = std::move(traced.captured.joint.graph);
  }
  traced.variant = std::move(variant);
  return traced;
}

std::vector<const Graph*> TracedVariant::graphs() const {
  if (trains()) return {&partition.forward, &partition.backward};
  return {&partition.forward};
}

namespace {

void finish(TracedVariant& traced, std::span<const std::shared_ptr<const CompiledGraph>> compiled) {
  Variant& variant = *traced.variant;
  Captured& captured = traced.captured;
  const std::vector<const Graph*> graphs = traced.graphs();
  for (size_t i = 0; i < graphs.size(); ++i)
    variant.explanation.graphs.push_back(explain_graph(*graphs[i], *compiled[i]));
  auto function = std::make_shared<CompiledFunction>();
  function->primals = captured.joint.primals;
  function->results = captured.joint.results;
  function->differentiable = captured.differentiable;
  function->forward = runner(compiled[0]);
  if (traced.trains()) {
    function->tangents = tangent_types(captured.joint);
    function->saved = traced.partition.saved;
    function->backward = runner(compiled[1]);
    function->draws = captured.draws;
    function->joint = std::make_shared<const aten_bridge::Joint>(std::move(captured.joint));
  }
  variant.function = std::move(function);
  variant.constants = std::move(captured.constants);
  variant.results = std::move(captured.results);
  variant.mutations = std::move(captured.mutations);
  variant.assumptions = std::move(captured.assumptions);
  variant.draws = captured.draws;
}

}  // namespace

void build_variants(std::span<TracedVariant> traced, Numerics numerics) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const Graph*> graphs;
  for (const TracedVariant& one : traced)
    for (const Graph* graph : one.graphs()) graphs.push_back(graph);
  const auto compiled = inductor::compile(graphs, numerics);
  std::span<const std::shared_ptr<const CompiledGraph>> rest;
  if (compiled.ok()) rest = *compiled;
  for (TracedVariant& one : traced) {
    if (!compiled.ok()) {
      one.variant->eager_reason = std::string(compiled.status().message());
      continue;
    }
    const size_t count = one.graphs().size();
    finish(one, rest.first(count));
    rest = rest.subspan(count);
    one.variant->explanation.compile_ms = milliseconds_since(start);
  }
}

}  // namespace torchdyn
