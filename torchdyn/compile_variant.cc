// The composition root: capture (aten_bridge), partition, compile (inductor), autograd node.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "aten_bridge/base/broken.h"
#include "aten_bridge/base/dump.h"
#include "aten_bridge/base/once.h"
#include "aten_bridge/graph/absent_tangents.h"
#include "aten_bridge/graph/channels_last.h"
#include "aten_bridge/graph/draws.h"
#include "aten_bridge/graph/generalize.h"
#include "aten_bridge/graph/partition.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/generalize.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/compile.h"
#include "inductor/lowering/lowering.h"
#include "torchdyn/broken.h"
#include "torchdyn/shortage.h"
#include "torchdyn/variant.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::CaptureError;
using aten_bridge::DumpStage;
using aten_bridge::Graph;
using aten_bridge::InternalError;
using aten_bridge::Node;
using aten_bridge::Partition;
using aten_bridge::Value;
using inductor::CompiledGraph;
using inductor::OnFault;

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

// Random operators keep eager's layout: which element gets which number follows from it.
std::optional<Graph> with_channels_last(const Graph& joint) {
  return aten_bridge::while_making(
      [&] { return print(joint); },
      [&] { return aten_bridge::with_channels_last(joint, inductor::writes_any_strides); });
}

// Below the joint graph, which whoever interprets it runs with eager's own operators.
Graph with_draws_in_kernels(const aten_bridge::Joint& joint) {
  const auto is_view = [](const Node& node) {
    return inductor::kind_of(node.op) == inductor::OpKind::kView;
  };
  const auto most_threads = [](const aten_bridge::Device& device) {
    return inductor::cuda_threads(device.index);
  };
  return aten_bridge::while_making(
      [&] { return print(joint.graph); },
      [&] {
        return aten_bridge::draws_in_kernels(joint.graph, {joint.primals, is_view, most_threads});
      });
}

Partition split(const Captured& captured) {
  const auto& [graph, primals, tangents, results] = captured.joint;
  const aten_bridge::Joint joint{with_draws_in_kernels(captured.joint), primals, tangents, results};
  return aten_bridge::while_making([&] { return print(joint.graph); },
                                   [&] {
                                     Partition partition =
                                         aten_bridge::partition(joint, inductor::recompute_of);
                                     save_copies_of_mutated(partition, captured);
                                     return partition;
                                   });
}

// Logits that are returned beside a loss need no gradient, of their size and all zeros.
void expect_losses_tangents(TracedVariant& traced) {
  traced.given = aten_bridge::likely_tangents(traced.captured.joint);
  if (std::find(traced.given.begin(), traced.given.end(), false) == traced.given.end()) return;
  Graph& backward = traced.partition.backward;
  Graph less = aten_bridge::while_making(
      [&] { return print(backward); },
      [&] { return aten_bridge::without_tangents(backward, traced.given); });
  traced.backward_of_all = std::exchange(backward, std::move(less));
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

void show(DumpStage stage, const Graph& graph) {
  aten_bridge::dump(stage, graph.name, [&] { return print(graph); });
}

}  // namespace

std::unique_ptr<Variant> guard_call(const Call& call, const std::vector<std::string>& names,
                                    std::optional<SizeGuards> sizes) {
  auto variant = std::make_unique<Variant>();
  variant->host = HostGuards::record(call, /*numbers_may_change=*/sizes.has_value());
  variant->grad_mode = c10::GradMode::is_enabled();
  for (const at::Tensor& t : call.leaves.tensors)
    variant->argument_requires_grad.push_back(t.requires_grad());
  variant->duplicates = Duplicates::find(call.tensors);
  const auto is_argument = [&](int tensor) {
    return static_cast<size_t>(tensor) < call.leaves.tensors.size();
  };
  const auto& tensor_of = variant->duplicates.tensor_of;  // arguments, then state
  const auto first_state = std::count_if(tensor_of.begin(), tensor_of.end(), is_argument);
  std::vector<bool> has_any_sizes;
  for (int tensor : tensor_of)
    has_any_sizes.push_back(sizes && is_argument(tensor) &&
                            sizes->sizes().tensors[tensor].has_value());
  std::vector<at::Tensor> storage;
  variant->inputs =
      aten_bridge::InputGuards::record(variant->duplicates.inputs(call.tensors, storage), names,
                                       static_cast<size_t>(first_state), has_any_sizes);
  variant->sizes = std::move(sizes);
  return variant;
}

namespace {

// A call and the callable that is captured for it.
struct Tracer {
  const Call& call;
  const std::vector<std::string>& names;
  const Duplicates& duplicates;
  internal::TraceRef trace;
  Numerics numerics;
  bool sizes_are_open;
  internal::Traced traced;  // of the last capture, its tensors taken

  Captured capture(const std::vector<int64_t>& numbers,
                   std::vector<std::optional<aten_bridge::TensorType>> types = {}) {
    std::vector<at::Tensor> storage;
    const auto given = duplicates.inputs(call.tensors, storage);
    const std::vector<at::Tensor> inputs(given.begin(), given.end());
    const auto call_with = [&](const std::vector<at::Tensor>& fakes) {
      std::vector<at::Tensor> argument_fakes;
      for (size_t i = 0; i < call.leaves.tensors.size(); ++i)
        argument_fakes.push_back(fakes[duplicates.input_of[i]]);
      traced = trace.call(trace.self, argument_fakes, numbers);
      return std::exchange(traced.tensors, {});
    };
    return aten_bridge::capture({inputs, names, std::move(types), sizes_are_open}, call_with,
                                numerics);
  }

  // The same call at other sizes.
  Captured capture_at(const DynamicSizes& sizes, const Samples& values) {
    const SymbolMap map = map_of(values);
    std::vector<int64_t> numbers;
    for (const SymExpr& e : sizes.numbers) numbers.push_back(e.substitute(map).as_constant());
    std::vector<std::optional<aten_bridge::TensorType>> types;
    for (int tensor : duplicates.tensor_of) {
      types.emplace_back();
      const bool is_argument = static_cast<size_t>(tensor) < sizes.tensors.size();
      if (!is_argument || !sizes.tensors[tensor]) continue;
      const auto& [shape, strides] = *sizes.tensors[tensor];
      types.back() = aten_bridge::type_of(call.tensors[tensor]);
      types.back()->sizes = shape;
      types.back()->strides = strides;
      aten_bridge::for_each_size(*types.back(), [&](SymExpr& e) { e = e.substitute(map); });
    }
    return capture(numbers, std::move(types));
  }
};

// Captures of one call at several sizes, and what they have in common.
class AtPoints {
 public:
  AtPoints(Tracer& tracer, const SizeGuards& guards) : tracer_(tracer), guards_(guards) {
    add(*guards.values(tracer.call.leaves), tracer.capture(tracer.call.leaves.numbers));
    prototype_ = tracer.traced.prototype;
  }

  void add(const Samples& sample) { add(sample, tracer_.capture_at(guards_.sizes(), sample)); }

  absl::StatusOr<Captured> generalize(std::vector<SymExpr>& numbers) const {
    aten_bridge::SizeFit fit(points_);
    numbers.clear();
    for (size_t n = 0; n < numbers_[0].size(); ++n) {
      Samples values;
      for (const auto& at : numbers_) {
        if (at.size() != numbers_[0].size())
          return absl::InvalidArgumentError("at another size the result has another structure");
        values.push_back(at[n]);
      }
      auto expr = fit.expression(values);
      if (!expr) return absl::OutOfRangeError("no expression gives a number of the result");
      numbers.push_back(*std::move(expr));
    }
    return aten_bridge::generalize(captures_, fit);
  }

  // What the call's own trace returned.
  std::shared_ptr<const void> prototype() const { return prototype_; }

 private:
  void add(const Samples& point, Captured captured) {
    points_.push_back(point);
    captures_.push_back(std::move(captured));
    numbers_.push_back(tracer_.traced.numbers);
  }

  Tracer& tracer_;
  const SizeGuards& guards_;
  std::vector<Samples> points_;
  std::vector<Captured> captures_;
  std::vector<std::vector<int64_t>> numbers_;  // of the results
  std::shared_ptr<const void> prototype_;
};

// How many points are tried, and how many more where those leave something open: a line has two
// unknowns, and two points have to lie on it besides; what a quotient rounds shows at some points
// alone.
constexpr size_t kPoints[] = {4, 8, 21};

// One capture for all sizes, from captures at several.
Captured capture_for_any_size(Tracer& tracer, const SizeGuards& guards,
                              std::vector<SymExpr>& numbers) {
  AtPoints at(tracer, guards);
  absl::StatusOr<Captured> captured = absl::InvalidArgumentError("too few sizes are allowed");
  const auto& samples = guards.sizes().samples;
  size_t next = 0;
  for (const size_t points : kPoints) {
    if (samples.size() + 1 < points) break;
    while (next + 1 < points) at.add(samples[next++]);
    captured = at.generalize(numbers);
    if (captured.ok() || !aten_bridge::more_points_may_help(captured.status())) break;
  }
  if (!captured.ok()) throw CaptureError(std::string(captured.status().message()));
  tracer.traced.prototype = at.prototype();
  return *std::move(captured);
}

}  // namespace

TracedVariant trace_variant(std::unique_ptr<Variant> variant, const Call& call,
                            const std::vector<std::string>& names, internal::TraceRef trace,
                            Numerics numerics) {
  const auto start = std::chrono::steady_clock::now();
  TracedVariant traced;
  Tracer tracer{call, names, variant->duplicates, trace, numerics, variant->sizes.has_value(), {}};
  if (variant->sizes) {
    traced.captured = capture_for_any_size(tracer, *variant->sizes, traced.numbers);
  } else {
    traced.captured = tracer.capture(call.leaves.numbers);
    traced.numbers.assign(tracer.traced.numbers.begin(), tracer.traced.numbers.end());
  }
  variant->prototype = std::move(tracer.traced.prototype);
  Graph& joint = traced.captured.joint.graph;
  if (numerics == Numerics::kDefault)
    if (auto last = with_channels_last(joint)) joint = *std::move(last);
  variant->explanation.capture_ms = milliseconds_since(start);

  show(traced.trains() ? DumpStage::kJoint : DumpStage::kGraph, joint);
  if (traced.trains()) {
    traced.partition = split(traced.captured);
    expect_losses_tangents(traced);
    show(DumpStage::kForward, traced.partition.forward);
    show(DumpStage::kBackward, traced.partition.backward);
  } else {
    traced.partition.forward = traced.captured.draws ? with_draws_in_kernels(traced.captured.joint)
                                                     : std::move(traced.captured.joint.graph);
  }
  traced.variant = std::move(variant);
  return traced;
}

std::vector<const Graph*> TracedVariant::graphs() const {
  if (trains()) return {&partition.forward, &partition.backward};
  return {&partition.forward};
}

namespace {

// A variant holds no handles of the program's tensors.
Options without_state(Options options) {
  options.state.clear();
  return options;
}

// What compiles a graph when it is first asked for; any thread may ask.
std::function<std::shared_ptr<const CompiledGraph>()> compiled_later(Graph graph, Numerics numerics,
                                                                     OnFault on_fault) {
  struct State {
    Graph graph;
    std::once_flag once;
    std::shared_ptr<const CompiledGraph> compiled;
  };
  auto state = std::make_shared<State>();
  state->graph = std::move(graph);
  return [state = std::move(state), numerics, on_fault] {
    std::call_once(state->once, [&] {
      const Graph* const graphs[] = {&state->graph};
      if (const auto compiled = inductor::compile(graphs, numerics, on_fault); compiled.ok())
        state->compiled = (*compiled)[0];
    });
    return state->compiled;
  };
}

OtherBackward other_backward(TracedVariant& traced, Numerics numerics, OnFault on_fault) {
  if (!traced.backward_of_all) return {};
  return {std::move(traced.given),
          compiled_later(*std::exchange(traced.backward_of_all, std::nullopt), numerics, on_fault)};
}

// What becomes of a fault in a backward whose text is `graph`; nothing: it is thrown.
std::function<void(const InternalError&)> backward_is_broken(const Options& options,
                                                             const std::string& graph,
                                                             OnFault on_fault) {
  if (on_fault == OnFault::kReport) return {};
  return [options = without_state(options), graph](const InternalError& error) {
    aten_bridge::say_once(error.what(),
                          "a backward runs in eager: " + reason_of(error, options, graph));
  };
}

void finish(TracedVariant& traced, std::span<const std::shared_ptr<const CompiledGraph>> compiled,
            const Options& options, OnFault on_fault) {
  Variant& variant = *traced.variant;
  const std::vector<const Graph*> graphs = traced.graphs();
  for (size_t i = 0; i < graphs.size(); ++i)
    variant.explanation.graphs.push_back(explain_graph(*graphs[i], *compiled[i]));
  variant.program = std::make_unique<const Program>(
      std::move(traced.captured), std::move(traced.partition.saved), std::move(traced.numbers),
      compiled, other_backward(traced, options.numerics, on_fault), variant.sizes.has_value(),
      options.cudagraphs,
      backward_is_broken(options, variant.explanation.graphs.back().text, on_fault));
}

}  // namespace

void build_variants(std::span<TracedVariant> traced, const Options& options, OnFault on_fault) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const Graph*> graphs;
  for (const TracedVariant& one : traced)
    for (const Graph* graph : one.graphs()) graphs.push_back(graph);
  const auto compiled = inductor::compile(graphs, options.numerics, on_fault);
  if (is_shortage(compiled.status())) throw Shortage(std::string(compiled.status().message()));
  std::span<const std::shared_ptr<const CompiledGraph>> rest;
  if (compiled.ok()) rest = *compiled;
  for (TracedVariant& one : traced) {
    if (!compiled.ok()) {
      one.variant->eager_reason = std::string(compiled.status().message());
      continue;
    }
    const size_t count = one.graphs().size();
    finish(one, rest.first(count), options, on_fault);
    rest = rest.subspan(count);
    one.variant->explanation.compile_ms = milliseconds_since(start);
  }
}

}  // namespace torchdyn
