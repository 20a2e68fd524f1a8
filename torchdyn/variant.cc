#include "torchdyn/variant.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include <torch/nn/module.h>

#include "absl/hash/hash.h"

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/row_index.h"

namespace torchdyn {

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
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].is_same(tensors[tensor_of[input_of[i]]])) return false;
  // A place in a small table first, since comparing all pairs of a large module's tensors takes
  // longer than the call.
  constexpr size_t kPlaces = 4096;
  std::bitset<kPlaces> taken;
  for (size_t i = 0; i < tensor_of.size(); ++i) {
    const at::Tensor& input = tensors[tensor_of[i]];
    const size_t place = absl::HashOf(input.unsafeGetTensorImpl()) % kPlaces;
    if (taken[place])
      for (size_t j = 0; j < i; ++j)
        if (tensors[tensor_of[j]].is_same(input)) return false;
    taken[place] = true;
  }
  return true;
}

std::span<const at::Tensor> Duplicates::inputs(const std::vector<at::Tensor>& tensors,
                                               std::vector<at::Tensor>& storage) const {
  if (tensor_of.size() == input_of.size()) return tensors;
  for (int tensor : tensor_of) storage.push_back(tensors[tensor]);
  return storage;
}

HostGuards HostGuards::record(const Call& call, bool numbers_may_change) {
  HostGuards guards;
  if (!numbers_may_change) guards.numbers_ = call.leaves.numbers;
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
  if (numbers_ && *numbers_ != call.leaves.numbers) return false;
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
  if (numbers_ && *numbers_ != call.leaves.numbers) return "a size among the arguments changed";
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

std::vector<std::shared_ptr<const torch::nn::Module>> HostGuards::modules() const {
  std::vector<std::shared_ptr<const torch::nn::Module>> alive;
  for (const auto& [address, module] : modules_) {
    alive.push_back(module.lock());
    if (!alive.back()) return {};
  }
  return alive;
}

Explanation::Variant Variant::explain() const {
  Explanation::Variant explained = explanation;
  if (program) explained.replay = program->replay();
  return explained;
}

bool Variant::matches(const Call& call, bool with_handles) const {
  if (!host.check(call) || !duplicates.hold(call.tensors)) return false;
  if (sizes && !sizes->values(call.leaves)) return false;
  std::vector<at::Tensor> storage;
  const auto given = duplicates.inputs(call.tensors, storage);
  return frozen.hold(given) && inputs->check(given, with_handles);
}

std::string Variant::why_not(const Call& call) const {
  std::string reason = host.explain_failure(call);
  if (!reason.empty()) return reason;
  if (!duplicates.hold(call.tensors)) return "other arguments are one and the same tensor";
  if (sizes && !sizes->values(call.leaves)) return "sizes relate otherwise, or one is below 2";
  std::vector<at::Tensor> storage;
  const auto given = duplicates.inputs(call.tensors, storage);
  reason = inputs->explain_failure(given);
  return reason.empty() ? frozen.explain_failure(given) : reason;
}

Program::Results Variant::run(const Call& call) const {
  std::vector<at::Tensor> storage;
  const std::span<const at::Tensor> given = duplicates.inputs(call.tensors, storage);
  if (!sizes) return program->run({}, given);
  const auto values = sizes->values(call.leaves);
  TD_CHECK(values, "a run without its guards");
  return program->run(*values, given);
}

}  // namespace torchdyn
