#include "inductor/runtime/aten/replay.h"

#include <algorithm>
#include <exception>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/run.h"
#include "inductor/runtime/aten/tensor_over.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using Tensors = std::vector<at::Tensor>;

constexpr int kWatched = 3;  // calls, before a recording
// Inputs may move, or the stream change: then it is recorded once more, but not for ever.
constexpr int kMostRecorded = 4;
// Results of a call are mostly held until those of the next are there.
constexpr int64_t kMostHeldTwice = 64 << 20;  // bytes
// What a launch costs the host, a copy's bytes take the device: about as long as a megabyte.
constexpr int64_t kCopiedForALaunch = 1 << 20;

bool writes_arguments(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) {
    return a.alias_info() && a.alias_info()->isWrite();
  });
}

// Why a graph cannot be recorded, whatever its inputs are; empty where it can.
std::string refusal(const CompiledGraph& graph) {
  const KernelPlan& plan = graph.plan;
  for (const PlanBuffer& buffer : plan.buffers)
    if (buffer.type.device != plan.device) return str_cat(buffer.name, " is on another device");
  for (const auto& output : plan.outputs)
    if (output && plan.buffers[output->buffer].storage == Storage::kInput)
      return "an input is returned";
  for (const LinkedCall& call : graph.linked->calls) {
    if (writes_arguments(call.op)) return str_cat(call.op.schema().name(), " changes an argument");
  }
  if (graph.launchers.size() + graph.linked->calls.size() < 2) return "it is one launch";
  return "";
}

// Whether an operator returned an input's memory.
bool share_memory(const Tensors& outputs, const Tensors& inputs) {
  return std::any_of(outputs.begin(), outputs.end(), [&](const at::Tensor& output) {
    return output.defined() && std::any_of(inputs.begin(), inputs.end(), [&](const at::Tensor& t) {
             return t.storage().is_alias_of(output.storage());
           });
  });
}

int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& t : tensors)
    if (t.defined()) bytes += static_cast<int64_t>(t.storage().nbytes());
  return bytes;
}

}  // namespace

struct ReplayedGraph::Input {
  const void* address = nullptr;
  bool moves = false;
  at::Tensor copy;  // of one that moves
};

// Shared with whoever holds a result of it.
struct ReplayedGraph::Recording {
  std::shared_ptr<GraphPool> pool;  // let go last
  std::unique_ptr<RecordedGraph> graph;
  Tensors outputs;  // their memory is the pool's

  // Tensors over the outputs' memory that hold the recording.
  static Tensors lend(const std::shared_ptr<Recording>& self) {
    Tensors lent;
    std::vector<std::pair<const c10::StorageImpl*, c10::Storage>> storages;
    for (const at::Tensor& output : self->outputs) {
      if (!output.defined()) {
        lent.emplace_back();
        continue;
      }
      const c10::StorageImpl* from = output.storage().unsafeGetStorageImpl();
      auto known = std::find_if(storages.begin(), storages.end(),
                                [&](const auto& s) { return s.first == from; });
      if (known == storages.end())
        known = storages.emplace(storages.end(), from, lend(self, output.storage()));
      lent.push_back(tensor_over(known->second, output.dtype(), output.sizes(), output.strides(),
                                 output.storage_offset()));
    }
    return lent;
  }

 private:
  static c10::Storage lend(const std::shared_ptr<Recording>& self, const c10::Storage& storage) {
    auto* holder = new std::shared_ptr<Recording>(self);
    c10::DataPtr data(
        storage.mutable_data(), holder,
        [](void* h) { delete static_cast<std::shared_ptr<Recording>*>(h); }, storage.device());
    return c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(storage.nbytes()),
        std::move(data), c10::GetAllocator(storage.device_type()), /*resizable=*/true);
  }
};

ReplayedGraph::ReplayedGraph(std::shared_ptr<const CompiledGraph> graph, GraphPoolFactory make_pool)
    : graph_(std::move(graph)), make_pool_(std::move(make_pool)) {
  if (std::string reason = refusal(*graph_); !reason.empty()) give_up(std::move(reason));
}

ReplayedGraph::~ReplayedGraph() = default;

Tensors ReplayedGraph::run(Tensors inputs) {
  if (!gave_up_) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock)
      if (auto outputs = replay(inputs)) return *std::move(outputs);
  }
  return inductor::run(*graph_, std::move(inputs));
}

std::string ReplayedGraph::state() const {
  const std::lock_guard lock(mutex_);
  if (gave_up_) return str_cat("not one CUDA graph: ", reason_);
  if (recordings_.empty()) return "not yet one CUDA graph";
  const auto copied =
      std::count_if(inputs_.begin(), inputs_.end(), [](const Input& i) { return i.moves; });
  return str_cat("replayed as one CUDA graph; ", recordings_.size(), " recordings, ", copied,
                 " inputs copied");
}

void ReplayedGraph::give_up(std::string reason) {
  reason_ = std::move(reason);
  recordings_.clear();
  inputs_.clear();
  pool_.reset();
  gave_up_ = true;
}

std::optional<Tensors> ReplayedGraph::replay(const Tensors& inputs) {
  const c10::Device device = graph_->linked->device.device;
  const c10::OptionalDeviceGuard guard(device);
  void* const stream =
      c10::impl::getDeviceGuardImpl(device.type())->getStream(device).native_handle();
  if (pool_ && pool_->is_recording(stream)) return std::nullopt;
  if (!watch(inputs, stream)) return std::nullopt;
  if (recordings_.empty() && !try_to_record(inputs)) return std::nullopt;
  const auto recording = std::find_if(recordings_.begin(), recordings_.end(),
                                      [](const auto& r) { return r.use_count() == 1; });
  if (recording == recordings_.end()) return std::nullopt;
  const c10::impl::ExcludeDispatchKeyGuard below(kBelowAutograd);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs_[i].moves) inputs_[i].copy.copy_(inputs[i]);
  (*recording)->graph->launch(stream);
  return Recording::lend(*recording);
}

// Whether enough calls were seen. Recordings of other addresses, or another stream, are let go.
bool ReplayedGraph::watch(const Tensors& inputs, void* stream) {
  inputs_.resize(inputs.size());
  bool moved = stream != stream_;
  stream_ = stream;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input& input = inputs_[i];
    if (input.moves) continue;
    const void* address = inputs[i].const_data_ptr();
    if (address == input.address) continue;
    input.moves = calls_ > 0;
    moved = moved || input.moves;
    input.address = address;
  }
  if (moved && !recordings_.empty()) {
    recordings_.clear();
    calls_ = 1;
  }
  return ++calls_ > kWatched;
}

// What a recording lacks, such as memory, a run by launches may have.
bool ReplayedGraph::try_to_record(const Tensors& inputs) {
  try {
    return record(inputs);
  } catch (const std::exception& error) {
    give_up(error.what());
    return false;
  }
}

bool ReplayedGraph::record(const Tensors& inputs) {
  if (++recordings_made_ > kMostRecorded) {
    give_up("its inputs or its stream keep changing");
    return false;
  }
  int64_t copied = 0;
  Tensors given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].moves) {
      const at::Tensor& input = inputs[i];
      if (!input.is_non_overlapping_and_dense()) {
        give_up("an input that moves has gaps");
        return false;
      }
      const auto bytes = static_cast<int64_t>(input.nbytes());
      inputs_[i].copy = tensor_over(allocate_storage(bytes, graph_->linked->device.allocator),
                                    input.dtype(), input.sizes(), input.strides(), 0);
      copied += bytes;
    }
    given.push_back(inputs_[i].moves ? inputs_[i].copy : inputs[i]);
  }
  const auto launches =
      static_cast<int64_t>(graph_->launchers.size() + graph_->linked->calls.size());
  if (copied > launches * kCopiedForALaunch) {
    give_up(str_cat("inputs of ", copied, " bytes move"));
    return false;
  }
  auto pool = make_pool_(graph_->linked->device.device);
  if (!pool.ok()) {
    give_up(std::string(pool.status().message()));
    return false;
  }
  pool_ = *std::move(pool);
  if (pool_->is_recording(stream_)) {
    --recordings_made_;
    return false;
  }
  do {
    auto recording = std::make_shared<Recording>();
    recording->pool = pool_;
    auto graph = pool_->record([&] { recording->outputs = inductor::run(*graph_, given); });
    if (!graph.ok()) {
      give_up(std::string(graph.status().message()));
      return false;
    }
    if (share_memory(recording->outputs, given)) {
      give_up("a result is an input's memory");
      return false;
    }
    recording->graph = *std::move(graph);
    recordings_.push_back(std::move(recording));
  } while (recordings_.size() < 2 && bytes_of(recordings_[0]->outputs) <= kMostHeldTwice);
  return true;
}

}  // namespace inductor
