#include "torchdyn/program.h"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/generalize.h"
#include "aten_bridge/trace/generalize.h"
#include "aten_bridge/trace/generators.h"
#include "inductor/runtime/aten/run.h"
#include "torchdyn/dynamic_sizes.h"

namespace torchdyn {
namespace {

using aten_bridge::Captured;
using aten_bridge::CompiledFunction;
using aten_bridge::ResultSource;
using aten_bridge::TensorType;
using inductor::CompiledGraph;

// Sizes in use at a time; each takes some kilobytes.
constexpr size_t kMostSizes = 256;

std::vector<int64_t> constants(const std::vector<SymExpr>& sizes) {
  std::vector<int64_t> values;
  for (const SymExpr& e : sizes) values.push_back(e.as_constant());
  return values;
}

// What repeats elements is an expanded view: its gradient is a sum, where that of as_strided adds
// one by one and rounds each time.
at::Tensor view_of(const at::Tensor& base, const ResultSource& r) {
  const std::vector<int64_t> whole = constants(r.sizes), strides = constants(r.strides);
  std::vector<int64_t> sizes = whole;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (strides[d] == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
  at::Tensor view = base.as_strided(sizes, strides, base.storage_offset() + r.offset.as_constant());
  if (sizes != whole) view = view.expand(whole);
  return r.detached ? view.detach() : view;
}

at::Tensor result_from(const ResultSource& r, std::span<const at::Tensor> inputs,
                       const std::vector<at::Tensor>& graph_results) {
  switch (r.kind) {
    case ResultSource::Kind::kUndefined:
      return {};
    case ResultSource::Kind::kGraph:
      return graph_results[r.index];
    case ResultSource::Kind::kInput:
      return inputs[r.index];
    case ResultSource::Kind::kViewOfInput:
      return view_of(inputs[r.index], r);
    case ResultSource::Kind::kViewOfGraph:
      return view_of(graph_results[r.index], r);
  }
  TD_CHECK(false, "a result of unknown kind");
}

std::vector<TensorType> tangent_types(const aten_bridge::Joint& joint, const SymbolMap& sizes) {
  std::vector<TensorType> types;
  for (int i = 0; i < joint.tangents; ++i) {
    types.push_back(joint.graph.inputs()[joint.primals + i].type());
    aten_bridge::for_each_size(types.back(), [&](SymExpr& e) { e = e.substitute(sizes); });
  }
  return types;
}

aten_bridge::GraphRunner runner(std::shared_ptr<const CompiledGraph> compiled,
                                const SymbolMap& sizes) {
  if (!sizes.empty()) {
    auto bound = inductor::bind(*compiled, sizes);
    TD_CHECK(bound.ok(), std::string(bound.status().message()));
    compiled = *std::move(bound);
  }
  return [compiled = std::move(compiled)](std::vector<at::Tensor> inputs) {
    return inductor::run(*compiled, std::move(inputs));
  };
}

// Runs a graph through whoever replays it.
template <class Replayed>
aten_bridge::GraphRunner runner(
    std::shared_ptr<Replayed> replayed,
    std::vector<at::Tensor> (Replayed::*run)(std::vector<at::Tensor> inputs)) {
  return [replayed = std::move(replayed), run](std::vector<at::Tensor> inputs) {
    return (*replayed.*run)(std::move(inputs));
  };
}

bool is_on_gpu(const CompiledGraph& graph) {
  return graph.plan.device.kind == aten_bridge::Device::Kind::kCuda;
}

std::shared_ptr<inductor::ReplayedGraph> replayed(
    const Captured& captured, const std::vector<std::shared_ptr<const CompiledGraph>>& compiled,
    bool wanted) {
  if (!wanted || !is_on_gpu(*compiled[0]) || captured.joint.tangents > 0) return nullptr;
  return std::make_shared<inductor::ReplayedGraph>(compiled[0]);
}

std::shared_ptr<inductor::ReplayedTraining> replayed_training(
    const Captured& captured, const std::vector<std::shared_ptr<const CompiledGraph>>& compiled,
    bool wanted) {
  if (!wanted || !is_on_gpu(*compiled[0]) || captured.joint.tangents == 0) return nullptr;
  return std::make_shared<inductor::ReplayedTraining>(compiled[0], compiled[1],
                                                      captured.joint.results);
}

}  // namespace

Program::Program(Captured captured, std::vector<aten_bridge::SavedValue> saved,
                 std::vector<SymExpr> numbers, CompiledGraphs compiled, OtherBackward other,
                 bool has_symbols, bool replays,
                 std::function<void(const aten_bridge::InternalError&)> broken)
    : captured_(std::make_shared<const Captured>(std::move(captured))),
      tangents_of_(aten_bridge::tangents_of_gradients(captured_->joint)),
      saved_(std::move(saved)),
      numbers_(std::move(numbers)),
      compiled_(compiled.begin(), compiled.end()),
      replayed_(replayed(*captured_, compiled_, replays && !has_symbols)),
      replayed_training_(replayed_training(*captured_, compiled_, replays && !has_symbols)),
      other_(std::move(other)),
      broken_(std::move(broken)) {
  if (!has_symbols) fixed_ = make({});
}

std::shared_ptr<const Program::Sized> Program::make(const Samples& values) const {
  const SymbolMap sizes = map_of(values);
  const aten_bridge::Joint& joint = captured_->joint;
  auto function = std::make_shared<CompiledFunction>();
  function->primals = joint.primals;
  function->results = joint.results;
  function->differentiable = captured_->differentiable;
  function->forward = runner(compiled_[0], sizes);
  if (replayed_) function->forward = runner(replayed_, &inductor::ReplayedGraph::run);
  if (joint.tangents > 0) {
    function->tangents = tangent_types(joint, sizes);
    function->tangents_of = tangents_of_;
    function->saved = saved_;
    function->backward = runner(compiled_[1], sizes);
    if (replayed_training_) {
      using inductor::ReplayedTraining;
      function->forward = runner(replayed_training_, &ReplayedTraining::forward);
      function->backward = runner(replayed_training_, &ReplayedTraining::backward);
    }
    if (other_.of_all) {
      function->given = other_.given;
      function->backward_of_all = [of_all = other_.of_all, sizes] {
        auto compiled = of_all();
        return compiled ? runner(std::move(compiled), sizes) : aten_bridge::GraphRunner();
      };
    }
    function->draws = captured_->draws;
    function->joint = std::shared_ptr<const aten_bridge::Joint>(captured_, &joint);
    function->sizes = sizes;
    function->broken = broken_;
  }
  auto sized = std::make_shared<Sized>();
  sized->function = std::move(function);
  for (const ResultSource& source : captured_->results)
    sized->results.push_back(aten_bridge::substitute(source, sizes));
  for (const SymExpr& e : numbers_) sized->numbers.push_back(e.substitute(sizes).as_constant());
  return sized;
}

std::shared_ptr<const Program::Sized> Program::at(const Samples& sizes) const {
  if (fixed_) return fixed_;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_sizes_.find(sizes); found != by_sizes_.end()) return found->second;
  }
  std::shared_ptr<const Sized> made;
  try {
    made = make(sizes);
  } catch (const aten_bridge::InternalError& error) {  // another variant serves the call
    throw aten_bridge::AssumptionFailed(std::string("internal error at other sizes: ") +
                                        error.what());
  }
  const std::lock_guard lock(mutex_);
  if (by_sizes_.size() >= kMostSizes) by_sizes_.clear();
  return by_sizes_.emplace(sizes, std::move(made)).first->second;
}

std::vector<at::Tensor> Program::run_checked(const Sized& sized,
                                             std::vector<at::Tensor> primals) const {
  const auto& assumptions = captured_->assumptions;
  if (assumptions.empty()) return aten_bridge::run(sized.function, std::move(primals));
  std::optional<aten_bridge::GeneratorStates> before;
  if (captured_->draws) before.emplace();
  std::vector<at::Tensor> graph_results = aten_bridge::run(sized.function, std::move(primals));
  for (const aten_bridge::Assumption& a : assumptions) {
    if (!a.number) continue;
    const aten_bridge::HostNumber now = aten_bridge::read_number(graph_results[a.result]);
    if (aten_bridge::is_same(now, *a.number)) continue;
    if (a.raises) throw aten_bridge::EagerRaises("an index is out of range");
    throw aten_bridge::AssumptionFailed("a number that is read on the host is " +
                                        aten_bridge::to_string(now) + ", was " +
                                        aten_bridge::to_string(*a.number));
  }
  if (before) before->keep();
  return graph_results;
}

namespace {

// Puts results into the inputs that the callable changes: those of a type together, which is one
// kernel on a GPU.
void write_back(std::span<const aten_bridge::Mutation> mutations,
                std::span<const at::Tensor> inputs, std::span<const at::Tensor> results) {
  struct Lists {
    std::vector<at::Tensor> inputs, results;
  };
  std::vector<Lists> lists;  // few: a type and a device each
  for (const auto& m : mutations) {
    const at::Tensor& input = inputs[m.input];
    auto list = std::find_if(lists.begin(), lists.end(), [&](const Lists& l) {
      return l.inputs[0].dtype() == input.dtype() && l.inputs[0].device() == input.device();
    });
    if (list == lists.end()) list = lists.emplace(lists.end());
    list->inputs.push_back(input);
    list->results.push_back(results[m.result]);
  }
  const at::NoGradGuard no_grad;
  for (const Lists& list : lists) at::_foreach_copy_(list.inputs, list.results);
}

}  // namespace

std::string Program::replay() const {
  if (replayed_training_) return replayed_training_->state();
  return replayed_ ? replayed_->state() : "";
}

Program::Results Program::run(const Samples& sizes, std::span<const at::Tensor> inputs) const {
  const std::shared_ptr<const Sized> sized = at(sizes);
  std::vector<at::Tensor> primals(inputs.begin(), inputs.end());
  primals.insert(primals.end(), captured_->constants.begin(), captured_->constants.end());
  const std::vector<at::Tensor> graph_results = run_checked(*sized, std::move(primals));
  write_back(captured_->mutations, inputs, graph_results);
  Results results;
  results.tensors.reserve(sized->results.size());
  for (const ResultSource& r : sized->results)
    results.tensors.push_back(result_from(r, inputs, graph_results));
  results.numbers = sized->numbers;
  return results;
}

}  // namespace torchdyn
