#include "inductor/runtime/aten/recording.h"

#include <algorithm>
#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/run.h"
#include "inductor/runtime/aten/tensor_over.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using aten_bridge::Verdict;
using Tensors = std::vector<at::Tensor>;

// What a launch costs the host, a copy's bytes take the device: about as long as a megabyte.
constexpr int64_t kCopiedForALaunch = 1 << 20;

bool writes_arguments(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) {
    return a.alias_info() && a.alias_info()->isWrite();
  });
}

}  // namespace

Verdict can_record(const CompiledGraph& graph) {
  const KernelPlan& plan = graph.plan;
  if (Verdict can = HostNumbers::can_give(graph); !can) return can;
  for (const auto& output : plan.outputs)
    if (output && plan.buffers[output->buffer].storage == Storage::kInput)
      return Verdict::no("an input is returned");
  for (const LinkedCall& call : graph.linked->calls) {
    if (writes_arguments(call.op))
      return Verdict::no(str_cat(call.op.schema().name(), " changes an argument"));
  }
  return Verdict::yes();
}

int64_t launches_of(const CompiledGraph& graph) {
  return static_cast<int64_t>(graph.launchers.size() + graph.linked->calls.size());
}

bool InputPlaces::stay(const Tensors& inputs) {
  const bool is_first = inputs_.empty();
  inputs_.resize(inputs.size());
  bool stayed = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input& input = inputs_[i];
    if (is_first) input.is_host = inputs[i].is_cpu();
    if (input.moves || input.is_host) continue;
    const void* address = inputs[i].const_data_ptr();
    if (address == input.address) continue;
    input.address = address;
    if (is_first) continue;
    input.moves = true;
    stayed = false;
  }
  return stayed;
}

bool InputPlaces::hold(const Tensors& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs_[i].moves && !inputs_[i].is_host &&
        inputs_[i].address != inputs[i].const_data_ptr())
      return false;
  return true;
}

absl::StatusOr<Tensors> InputPlaces::fix(const Tensors& inputs, const CompiledGraph& graph) {
  int64_t copied = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs_[i].moves) continue;
    if (!inputs[i].is_non_overlapping_and_dense())
      return absl::UnimplementedError("an input that moves has gaps");
    copied += static_cast<int64_t>(inputs[i].nbytes());
  }
  if (copied > launches_of(graph) * kCopiedForALaunch)
    return absl::UnimplementedError(str_cat("inputs of ", copied, " bytes move"));
  Tensors given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    if (inputs_[i].moves)
      inputs_[i].copy = tensor_over(
          allocate_storage(static_cast<int64_t>(input.nbytes()), graph.linked->device.allocator),
          input.dtype(), input.sizes(), input.strides(), 0);
    given.push_back(inputs_[i].moves ? inputs_[i].copy : input);
  }
  return given;
}

void InputPlaces::fill(const Tensors& inputs) const {
  const c10::impl::ExcludeDispatchKeyGuard below(kBelowAutograd);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs_[i].moves) inputs_[i].copy.copy_(inputs[i]);
}

bool InputPlaces::is_fixed(const void* address) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& i) {
    return !i.moves && !i.is_host && i.address == address;
  });
}

int InputPlaces::moving() const {
  return static_cast<int>(
      std::count_if(inputs_.begin(), inputs_.end(), [](const Input& i) { return i.moves; }));
}

absl::StatusOr<std::shared_ptr<Recording>> Recording::make(std::shared_ptr<GraphPool> pool,
                                                           const CompiledGraph& graph,
                                                           Tensors given) {
  std::shared_ptr<Recording> recording(new Recording(std::move(pool), graph));
  CompiledGraph to_record = graph;
  const auto linked = std::make_shared<LinkedPlan>(*graph.linked);
  to_record.linked = linked;
  recording->numbers_.to_record(to_record, *linked, *recording->pool_);
  recording->operators_.stand_in(*linked, *recording->pool_);
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> of_inputs;
  for (const at::Tensor& t : given) of_inputs.push_back(t.storage().getWeakStorageImpl());
  Tensors outputs;
  auto pieces = recording->pool_->record([&] { outputs = run(to_record, std::move(given)); });
  if (!pieces.ok()) return pieces.status();
  recording->pieces_ = *std::move(pieces);
  for (const auto& weak : of_inputs) {
    const auto input = weak.lock();
    for (const at::Tensor& output : outputs)
      if (output.defined() && output.storage().unsafeGetStorageImpl() == input.get())
        return absl::UnimplementedError("a result is an input's memory");
  }
  recording->keep(outputs);
  return recording;
}

void Recording::keep(const Tensors& outputs) {
  for (const at::Tensor& output : outputs) {
    memory_of_.push_back(-1);
    outputs_.emplace_back();
    if (!output.defined() || numbers_.buffer_of(outputs_.size() - 1) >= 0) continue;
    const auto known = std::find_if(memory_.begin(), memory_.end(), [&](const Memory& m) {
      return m.kept.unsafeGetStorageImpl() == output.storage().unsafeGetStorageImpl();
    });
    memory_of_.back() = static_cast<int>(known - memory_.begin());
    if (known == memory_.end())
      memory_.push_back({output.storage(), storage_over(output.storage(), nullptr)});
    outputs_.back() = tensor_like(memory_[memory_of_.back()].seen, output);
  }
}

Tensors Recording::replay(const std::shared_ptr<Recording>& self, const Tensors& inputs,
                          void* stream) {
  HostNumbers::Tensors numbers = self->numbers_.of_call(inputs);
  for (size_t i = 0; i < self->pieces_.size(); ++i) {
    if (i > 0) self->operators_.run(i - 1);
    self->numbers_.give(i, numbers, *self->pieces_[i]);
    self->pieces_[i]->launch(stream);
  }
  return lend(self, numbers);
}

Tensors Recording::lend(const std::shared_ptr<Recording>& self,
                        const HostNumbers::Tensors& numbers) {
  std::vector<c10::Storage> storages;
  for (const Memory& memory : self->memory_) storages.push_back(storage_over(memory.seen, self));
  Tensors lent;
  for (size_t i = 0; i < self->outputs_.size(); ++i) {
    if (const int number = self->numbers_.buffer_of(i); number >= 0)
      lent.push_back(numbers[number]);
    else if (const int memory = self->memory_of_[i]; memory >= 0)
      lent.push_back(tensor_like(storages[memory], self->outputs_[i]));
    else
      lent.emplace_back();
  }
  return lent;
}

int64_t Recording::bytes() const {
  int64_t bytes = 0;
  for (const Memory& memory : memory_) bytes += static_cast<int64_t>(memory.seen.nbytes());
  return bytes;
}

c10::Storage Recording::memory_at(const void* address) const {
  for (const Memory& memory : memory_)
    if (memory.seen.data() == address) return memory.kept;
  return {};
}

void Recording::let_go(const void* address) {
  for (Memory& memory : memory_)
    if (memory.seen.data() == address) memory.kept = {};
}

}  // namespace inductor
