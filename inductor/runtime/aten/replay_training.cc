#include "inductor/runtime/aten/replay_training.h"

#include <algorithm>
#include <exception>
#include <span>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/recording.h"
#include "inductor/runtime/aten/run.h"
#include "inductor/runtime/aten/tensor_over.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using Tensors = std::vector<at::Tensor>;
using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// Backwards, before a large tangent is read where it lies: more than a graph before or behind this
// one takes to settle.
constexpr int kSettled = 6;
constexpr int kMostUnsettled = 32;  // backwards, before such tangents are copied
// A result that the program holds until the next call is given to it as a copy; a tangent is
// copied.
constexpr int64_t kMostCopied = 1 << 20;  // bytes
// What the device gives to the process may grow by a twentieth, or by so much.
constexpr int64_t kSmallPool = 64 << 20;  // bytes
constexpr int kCallsInBounds = 8;         // after a recording, until its pool is known to fit

c10::DeviceAllocator& allocator_of(const CompiledGraph& graph) {
  return dynamic_cast<c10::DeviceAllocator&>(*graph.linked->device.allocator);
}

c10::CachingAllocator::Stat reserved_by(const CompiledGraph& graph) {
  const auto stats = allocator_of(graph).getDeviceStats(graph.linked->device.device.index());
  return stats.reserved_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

at::Tensor copy_of(const at::Tensor& tensor, c10::Allocator* allocator) {
  const c10::Storage& from = tensor.storage();
  const auto bytes = static_cast<int64_t>(from.nbytes());
  const c10::Storage to = allocate_storage(bytes, allocator);
  const auto as_bytes = [&](const c10::Storage& storage) {
    return tensor_over(storage, caffe2::TypeMeta::Make<uint8_t>(), {bytes}, {1}, 0);
  };
  as_bytes(to).copy_(as_bytes(from));
  return tensor_over(to, tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

std::vector<WeakStorage> storages_of(std::span<const at::Tensor> tensors) {
  std::vector<WeakStorage> storages;
  for (const at::Tensor& t : tensors)
    storages.push_back(t.defined() ? t.storage().getWeakStorageImpl()
                                   : WeakStorage(c10::intrusive_ptr<c10::StorageImpl>()));
  return storages;
}

bool is_any_alive(const std::vector<WeakStorage>& storages) {
  return std::any_of(storages.begin(), storages.end(),
                     [](const WeakStorage& s) { return !s.expired(); });
}

using Places = std::unordered_map<const void*, size_t>;  // memory -> how many lie there

// Whether a backward is given what the recorded forward saved, not what another call did.
bool has_all_saved(const Recording& forward, int results, const Places& given) {
  const Tensors& outputs = forward.outputs();
  return std::all_of(outputs.begin() + results, outputs.end(), [&](const at::Tensor& t) {
    return !t.defined() || !t.storage().data() || given.count(t.storage().data());
  });
}

std::string refusal(const CompiledGraph& forward, const CompiledGraph& backward) {
  for (const CompiledGraph* graph : {&forward, &backward}) {
    if (graph->plan.device != forward.plan.device) return "it runs on several devices";
    if (const auto can = can_record(*graph); !can)
      return str_cat(graph->plan.name, ": ", can.reason());
  }
  return "";
}

}  // namespace

// What calls by launches tell.
struct ReplayedTraining::Seen {
  InputPlaces inputs;  // of forwards
  void* stream = nullptr;
  int calls = 0;                                // since an input moved
  std::vector<WeakStorage> results, gradients;  // of the last calls
  bool gradients_are_held = false;              // were, when a forward came
};

struct ReplayedTraining::Recorded {
  struct Backward {
    std::shared_ptr<Recording> recording;
    InputPlaces inputs;
  };

  std::shared_ptr<GraphPool> pool;  // of the forward
  // Whether the one backward records into it, too, and may put what it makes where saved values
  // were. Others have a pool each: what one puts its temporaries into must not be another's
  // results.
  bool frees_saved = true;
  std::shared_ptr<Recording> forward;
  std::vector<Backward> backwards;  // one after the other, as calls need them
  std::vector<size_t> copied_out;   // results
  // Of the backward's inputs: how many share the saved values' memory that it lies in; none: it
  // does not.
  std::vector<size_t> sharers;
  std::vector<WeakStorage> saved;              // that the forward lent last
  std::vector<const void*> tangents;           // where large ones lay last, by the backward's input
  int tangents_stayed = 0, tangents_seen = 0;  // backwards
  int64_t most_reserved = 0;                   // bytes of the device, before
  int replays = 0;

  // Gradients that are held while the next ones are made have a recording of their own.
  size_t most_backwards() const { return frees_saved ? 1 : 2; }

  Backward* unlent_backward() {
    const auto found = std::find_if_not(backwards.begin(), backwards.end(), [](const Backward& b) {
      return Recording::is_lent(b.recording);
    });
    return found == backwards.end() ? nullptr : &*found;
  }

  bool gradients_are_lent() { return !backwards.empty() && !unlent_backward(); }
  // Whether somebody has what a launch of the forward overwrites.
  bool forward_is_lent() {
    return Recording::is_lent(forward) || (frees_saved && gradients_are_lent());
  }

  // Whether large tangents stay where they are.
  bool has_settled(std::vector<const void*> now) {
    const bool has_large = std::any_of(now.begin(), now.end(), [](const void* t) { return t; });
    tangents_stayed = now == tangents ? tangents_stayed + 1 : 1;
    tangents = std::move(now);
    return ++tangents_seen > kMostUnsettled || !has_large || tangents_stayed >= kSettled;
  }

  // Whether a large tangent of the forward's own backward lies elsewhere now.
  bool tangents_moved(const Tensors& inputs) const {
    bool moved = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (sharers[i] > 0 && !forward->memory_at(inputs[i].storage().data())) return false;
      moved |= tangents[i] && tangents[i] != inputs[i].const_data_ptr();
    }
    return moved;
  }

  // Whether the call alone has what a launch of the backward overwrites of its inputs.
  bool may_free_saved(const Tensors& inputs) const {
    if (!frees_saved) return true;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (sharers[i] > 0 &&
          (inputs[i].use_count() > 1 || inputs[i].storage().use_count() != sharers[i]))
        return false;
    return true;
  }
};

ReplayedTraining::ReplayedTraining(std::shared_ptr<const CompiledGraph> forward,
                                   std::shared_ptr<const CompiledGraph> backward, int results,
                                   GraphPoolFactory make_pool)
    : forward_(std::move(forward)),
      backward_(std::move(backward)),
      results_(results),
      make_pool_(std::move(make_pool)),
      seen_(std::make_unique<Seen>()) {
  if (std::string reason = refusal(*forward_, *backward_); !reason.empty())
    give_up(std::move(reason));
}

ReplayedTraining::~ReplayedTraining() = default;

std::string ReplayedTraining::state() const {
  const std::lock_guard lock(mutex_);
  if (gave_up_) return str_cat("not CUDA graphs: ", reason_);
  if (!recorded_) return "not yet CUDA graphs";
  const auto& backwards = recorded_->backwards;
  if (backwards.empty())
    return str_cat("forward replayed as a CUDA graph; ", seen_->inputs.moving(), " inputs copied");
  return str_cat("forward and backward replayed as CUDA graphs; ", seen_->inputs.moving(), " and ",
                 backwards[0].inputs.moving(), " inputs copied, ", recorded_->copied_out.size(),
                 " results copied", recorded_->frees_saved ? "" : ", gradients lie apart");
}

void ReplayedTraining::give_up(std::string reason) {
  reason_ = std::move(reason);
  recorded_.reset();
  *seen_ = {};
  gave_up_ = true;
}

Tensors ReplayedTraining::forward(Tensors inputs) {
  if (gave_up_) return run(*forward_, std::move(inputs));
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
    if (auto outputs = replay_forward(inputs)) return *std::move(outputs);
  Tensors outputs = run(*forward_, std::move(inputs));
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
    seen_->results = storages_of(std::span(outputs).first(static_cast<size_t>(results_)));
  return outputs;
}

Tensors ReplayedTraining::backward(Tensors inputs) {
  if (gave_up_) return run(*backward_, std::move(inputs));
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
    if (auto gradients = replay_backward(inputs)) return *std::move(gradients);
  Tensors gradients = run(*backward_, std::move(inputs));
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
    seen_->gradients = storages_of(gradients);
  return gradients;
}

std::optional<Tensors> ReplayedTraining::replay_forward(const Tensors& inputs) {
  if (gave_up_) return std::nullopt;
  const c10::OptionalDeviceGuard guard(forward_->linked->device.device);
  void* const stream = forward_->linked->device.current_stream();
  if (recorded_ && recorded_->pool->is_recording(stream)) return std::nullopt;
  if (!watch(inputs, stream)) return std::nullopt;
  if (!recorded_ && !try_to(&ReplayedTraining::record_forward, inputs)) return std::nullopt;
  if (!recorded_ || !may_launch_forward()) return std::nullopt;
  if (++recorded_->replays < kCallsInBounds && is_too_large()) {
    give_up("with the program between them they take more memory than launches did");
    return std::nullopt;
  }
  seen_->inputs.fill(inputs);
  Tensors outputs = Recording::replay(recorded_->forward, inputs, stream);
  recorded_->saved = storages_of(std::span(outputs).subspan(static_cast<size_t>(results_)));
  const c10::impl::ExcludeDispatchKeyGuard below(kBelowAutograd);
  for (size_t i : recorded_->copied_out)
    outputs[i] = copy_of(outputs[i], forward_->linked->device.allocator);
  return outputs;
}

// Where a backward is to come, this call runs by launches, over memory that eager would take, too.
// Otherwise the pool would be kept for nothing: what is held now is noticed before the next
// recording.
bool ReplayedTraining::may_launch_forward() {
  if (!recorded_->forward_is_lent()) return true;
  if (is_any_alive(recorded_->saved)) return false;
  seen_->gradients_are_held = seen_->gradients_are_held || recorded_->gradients_are_lent();
  let_go();
  return false;
}

void ReplayedTraining::let_go() {
  recorded_.reset();
  seen_->calls = 1;
}

// Whether enough calls were seen.
bool ReplayedTraining::watch(const Tensors& inputs, void* stream) {
  const bool stays = seen_->inputs.stay(inputs) && stream == seen_->stream;
  seen_->stream = stream;
  if (!stays && recorded_) let_go();
  seen_->gradients_are_held = seen_->gradients_are_held || is_any_alive(seen_->gradients);
  return ++seen_->calls > kWatched;
}

bool ReplayedTraining::try_to(absl::Status (ReplayedTraining::*record)(const Tensors& inputs),
                              const Tensors& inputs) {
  try {
    const absl::Status status = (this->*record)(inputs);
    if (status.ok()) return true;
    give_up(std::string(status.message()));
  } catch (const std::exception& error) {  // such as no memory, which a run by launches may have
    give_up(error.what());
  }
  return false;
}

absl::Status ReplayedTraining::record_forward(const Tensors& inputs) {
  auto recorded = std::make_unique<Recorded>();
  for (size_t i = 0; i < seen_->results.size(); ++i) {
    const auto held = seen_->results[i].lock();
    if (!held || held->device_type() == c10::kCPU) continue;
    if (static_cast<int64_t>(held->nbytes()) > kMostCopied)
      return absl::UnimplementedError(
          str_cat("a result of ", held->nbytes(), " bytes is held when the next call comes"));
    recorded->copied_out.push_back(i);
  }
  auto pool = make_pool_(forward_->linked->device.device);
  if (!pool.ok()) return pool.status();
  if ((*pool)->is_recording(seen_->stream)) return absl::OkStatus();
  if (++recordings_made_ > kMostRecorded)
    return absl::UnimplementedError(
        "their inputs, their stream or which results are held keep changing");
  auto given = seen_->inputs.fix(inputs, *forward_);
  if (!given.ok()) {
    if (recordings_made_ == kMostRecorded) return given.status();
    *seen_ = {};  // a graph before this one may just have been recorded: they may stay now
    return absl::OkStatus();
  }
  recorded->pool = *std::move(pool);
  recorded->frees_saved = !seen_->gradients_are_held;
  recorded->most_reserved = reserved_by(*forward_).peak;
  // What calls by launches needed until now is free, and the pool's from here on.
  allocator_of(*forward_).emptyCache();
  auto recording = Recording::make(recorded->pool, *forward_, *std::move(given));
  if (!recording.ok()) return recording.status();
  recorded->forward = *std::move(recording);
  recorded_ = std::move(recorded);
  return absl::OkStatus();
}

std::optional<Tensors> ReplayedTraining::replay_backward(const Tensors& inputs) {
  if (gave_up_ || !recorded_) return std::nullopt;
  const c10::OptionalDeviceGuard guard(forward_->linked->device.device);
  void* const stream = forward_->linked->device.current_stream();
  if (stream != seen_->stream || recorded_->pool->is_recording(stream)) return std::nullopt;
  Recorded::Backward* backward = recorded_->unlent_backward();
  if (!backward && recorded_->backwards.size() < recorded_->most_backwards()) {
    if (!try_to(&ReplayedTraining::record_backward, inputs)) return std::nullopt;
    backward = recorded_->unlent_backward();
  }
  if (!backward || !recorded_->may_free_saved(inputs)) return std::nullopt;
  if (!backward->inputs.hold(inputs)) {
    if (recorded_->tangents_moved(inputs)) let_go();
    return std::nullopt;
  }
  backward->inputs.fill(inputs);
  return Recording::replay(backward->recording, inputs, stream);
}

absl::Status ReplayedTraining::record_backward(const Tensors& inputs) {
  Recorded& recorded = *recorded_;
  Places saved;  // in the forward's memory
  for (const at::Tensor& t : inputs)
    if (recorded.forward->memory_at(t.storage().data())) ++saved[t.storage().data()];
  saved.erase(nullptr);  // without elements
  for (int i = 0; i < results_; ++i) {
    const at::Tensor& result = recorded.forward->outputs()[i];
    if (const auto found = saved.find(result.defined() ? result.storage().data() : nullptr);
        found != saved.end())
      found->second = 0;  // stays the program's
  }
  InputPlaces places;
  std::vector<size_t> sharers(inputs.size(), 0);
  places.stay(inputs);
  std::vector<const void*> tangents(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = saved.find(inputs[i].storage().data());
    const void* address = inputs[i].const_data_ptr();
    if (found != saved.end())
      sharers[i] = found->second;
    else if (inputs[i].is_cpu() || seen_->inputs.is_fixed(address))
      continue;
    else if (static_cast<int64_t>(inputs[i].nbytes()) <= kMostCopied ||
             recorded.tangents_seen > kMostUnsettled)
      places.let_move(i);
    else
      tangents[i] = address;
  }
  recorded.sharers = sharers;
  if (!recorded.has_settled(std::move(tangents))) return absl::OkStatus();
  if (!has_all_saved(*recorded.forward, results_, saved) || !recorded.may_free_saved(inputs))
    return absl::OkStatus();  // the next one may
  auto given = places.fix(inputs, *backward_);
  if (!given.ok()) return given.status();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& t = inputs[i];
    if (!saved.count(t.storage().data())) continue;
    (*given)[i] = tensor_over(recorded.forward->memory_at(t.storage().data()), t.dtype(), t.sizes(),
                              t.strides(), t.storage_offset());
  }
  // Results stay; saved values may be freed at their last use, as in a run by launches.
  std::shared_ptr<GraphPool> pool = recorded.pool;
  if (!recorded.frees_saved) {
    auto apart = make_pool_(backward_->linked->device.device);
    if (!apart.ok()) return apart.status();
    pool = *std::move(apart);
  }
  if (recorded.frees_saved)
    for (const auto& [address, count] : saved)
      if (count > 0) recorded.forward->let_go(address);
  auto recording = Recording::make(std::move(pool), *backward_, *std::move(given));
  if (!recording.ok()) return recording.status();
  recorded.backwards.push_back({*std::move(recording), std::move(places)});
  if (is_too_large())
    return absl::ResourceExhaustedError("they take more memory than launches did");
  return absl::OkStatus();
}

bool ReplayedTraining::is_too_large() const {
  const int64_t most = recorded_->most_reserved;
  return reserved_by(*forward_).current > most + std::max(most / 20, kSmallPool);
}

}  // namespace inductor
