#include "torchdyn/variant.h"

#include <algorithm>
#include <unordered_map>

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include "aten_bridge/base/assumption.h"
#include "aten_bridge/base/check.h"
#include "aten_bridge/base/row_index.h"
#include "aten_bridge/trace/generators.h"

namespace torchdyn {

using aten_bridge::ResultSource;

namespace {

// What repeats elements is an expanded view: its gradient is a sum, where that of as_strided adds
// one by one and rounds each time.
at::Tensor view_of(const at::Tensor& base, const ResultSource& r) {
  std::vector<int64_t> sizes(r.sizes);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (r.strides[d] == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
  at::Tensor view = base.as_strided(sizes, r.strides, base.storage_offset() + r.offset);
  if (sizes != r.sizes) view = view.expand(r.sizes);
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

}  // namespace

Duplicates Duplicates::find(const std::vector<at::Tensor>& tensors) {
  Duplicates found;
  std::unordered_map<const c10::TensorImpl*, int> seen;
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto [it, is_new] = seen.try_emplace(tensors[i].unsafeGetTensorImpl(), seen.size());
    if (is_new) found.tensor_of.push_back(static_cast<int>(i));
    found.input_of.push_back(it->second);
  }
  return found;
}

bool Duplicates::hold(const std::vector<at::Tensor>& tensors) const noexcept {
  if (tensors.size() != input_of.size()) return false;
  if (tensor_of.size() == input_of.size()) return true;  // InputGuards sees new overlaps
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].is_same(tensors[tensor_of[input_of[i]]])) return false;
  return true;
}

std::span<const at::Tensor> Duplicates::inputs(const std::vector<at::Tensor>& tensors,
                                               std::vector<at::Tensor>& storage) const {
  if (tensor_of.size() == input_of.size()) return tensors;
  for (int tensor : tensor_of) storage.push_back(tensors[tensor]);
  return storage;
}

HostGuards HostGuards::record(const Call& call) {
  HostGuards guards;
  guards.constants_ = call.leaves.constants;
  for (const torch::nn::Module* module : call.state.modules)
    guards.modules_.emplace_back(module, module->weak_from_this());
  guards.flags_ = call.state.flags;
  guards.rows_generation_ = aten_bridge::rows_generation();
  return guards;
}

bool HostGuards::is_current() const noexcept {
  return rows_generation_ == aten_bridge::rows_generation();
}

bool HostGuards::check(const Call& call) const noexcept {
  if (!is_current()) return false;
  const auto& constants = call.leaves.constants;
  if (constants.size() != constants_.size() || call.state.flags != flags_ ||
      call.state.modules.size() != modules_.size())
    return false;
  for (size_t i = 0; i < constants.size(); ++i)
    if (constants[i].bits != constants_[i].bits) return false;
  // A module that is alive still has its address to itself.
  for (size_t i = 0; i < modules_.size(); ++i)
    if (modules_[i].first != call.state.modules[i] || modules_[i].second.expired()) return false;
  return true;
}

std::string HostGuards::explain_failure(const Call& call) const {
  if (!is_current()) return "a decomposition or a lowering was registered";
  const auto& now = call.leaves.constants;
  for (size_t i = 0; i < std::min(now.size(), constants_.size()); ++i) {
    if (now[i].bits != constants_[i].bits)
      return "a number, flag or size of argument " + std::to_string(now[i].argument) +
             " changed; pass a 0-dimensional tensor in place of a number that changes from call to "
             "call";
  }
  if (now.size() != constants_.size()) return "an argument's structure changed";
  if (call.state.modules.size() != modules_.size()) return "a module gained or lost a submodule";
  for (size_t i = 0; i < modules_.size(); ++i)
    if (modules_[i].first != call.state.modules[i] || modules_[i].second.expired())
      return "another module (" + call.state.modules[i]->name() + ") was passed";
  if (call.state.flags != flags_) {
    for (size_t i = 0; i < flags_.size(); ++i)
      if (flags_[i] != call.state.flags[i])
        return "the training flag or the set of tensors of a module (" +
               call.state.modules[i]->name() + ") changed";
  }
  return "";
}

std::vector<std::string> HostGuards::describe() const {
  std::vector<std::string> lines;
  if (!constants_.empty())
    lines.push_back(std::to_string(constants_.size()) + " numbers, flags and sizes by value");
  if (!modules_.empty())
    lines.push_back(std::to_string(modules_.size()) + " modules by identity, with training flags");
  return lines;
}

bool Variant::matches(const Call& call) const noexcept {
  if (!host.check(call) || !duplicates.hold(call.tensors)) return false;
  std::vector<at::Tensor> storage;
  const auto given = duplicates.inputs(call.tensors, storage);
  return frozen.hold(given) && inputs->check(given);
}

std::string Variant::why_not(const Call& call) const {
  std::string reason = host.explain_failure(call);
  if (!reason.empty()) return reason;
  if (!duplicates.hold(call.tensors)) return "other arguments are one and the same tensor";
  std::vector<at::Tensor> storage;
  const auto given = duplicates.inputs(call.tensors, storage);
  reason = inputs->explain_failure(given);
  return reason.empty() ? frozen.explain_failure(given) : reason;
}

std::vector<at::Tensor> Variant::run_checked(std::vector<at::Tensor> primals) const {
  if (assumptions.empty()) return aten_bridge::run(function, std::move(primals));
  std::optional<aten_bridge::GeneratorStates> before;
  if (draws) before.emplace();
  std::vector<at::Tensor> graph_results = aten_bridge::run(function, std::move(primals));
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

std::vector<at::Tensor> Variant::run(const Call& call) const {
  std::vector<at::Tensor> storage;
  const std::span<const at::Tensor> inputs = duplicates.inputs(call.tensors, storage);
  std::vector<at::Tensor> primals(inputs.begin(), inputs.end());
  primals.insert(primals.end(), constants.begin(), constants.end());
  const std::vector<at::Tensor> graph_results = run_checked(std::move(primals));
  if (!mutations.empty()) {
    at::NoGradGuard no_grad;
    for (const auto& m : mutations) inputs[m.input].copy_(graph_results[m.result]);
  }
  std::vector<at::Tensor> tensors;
  tensors.reserve(results.size());
  for (const ResultSource& r : results) tensors.push_back(result_from(r, inputs, graph_results));
  return tensors;
}

}  // namespace torchdyn
