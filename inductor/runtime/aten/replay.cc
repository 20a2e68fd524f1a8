#include "inductor/runtime/aten/replay.h"

#include <algorithm>
#include <exception>

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/aten/linked_plan.h"
#include "inductor/runtime/aten/recording.h"
#include "inductor/runtime/aten/run.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;
using Tensors = std::vector<at::Tensor>;

// Results of a call are mostly held until those of the next are there.
constexpr int64_t kMostHeldTwice = 64 << 20;  // bytes

// Why a graph cannot be recorded, whatever its inputs are; empty where it can.
std::string refusal(const CompiledGraph& graph) {
  if (const auto can = can_record(graph); !can) return can.reason();
  return launches_of(graph) < 2 ? "it is one launch" : "";
}

}  // namespace

ReplayedGraph::ReplayedGraph(std::shared_ptr<const CompiledGraph> graph, GraphPoolFactory make_pool)
    : graph_(std::move(graph)),
      make_pool_(std::move(make_pool)),
      inputs_(std::make_unique<InputPlaces>()) {
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
  return str_cat("replayed as one CUDA graph; ", recordings_.size(), " recordings, ",
                 inputs_->moving(), " inputs copied");
}

void ReplayedGraph::give_up(std::string reason) {
  reason_ = std::move(reason);
  recordings_.clear();
  *inputs_ = {};
  pool_.reset();
  gave_up_ = true;
}

std::optional<Tensors> ReplayedGraph::replay(const Tensors& inputs) {
  const PlanDevice& device = graph_->linked->device;
  const c10::OptionalDeviceGuard guard(device.device);
  void* const stream = device.current_stream();
  if (pool_ && pool_->is_recording(stream)) return std::nullopt;
  if (!watch(inputs, stream)) return std::nullopt;
  if (recordings_.empty() && !try_to_record(inputs)) return std::nullopt;
  const auto recording = std::find_if_not(recordings_.begin(), recordings_.end(),
                                          [](const auto& r) { return Recording::is_lent(r); });
  if (recording == recordings_.end()) return std::nullopt;
  inputs_->fill(inputs);
  return Recording::replay(*recording, inputs, stream);
}

// Whether enough calls were seen. Recordings of other addresses, or another stream, are let go.
bool ReplayedGraph::watch(const Tensors& inputs, void* stream) {
  const bool stays = inputs_->stay(inputs) && stream == stream_;
  stream_ = stream;
  if (!stays && !recordings_.empty()) {
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
  const auto given = inputs_->fix(inputs, *graph_);
  if (!given.ok()) {
    if (recordings_made_ == kMostRecorded) {
      give_up(std::string(given.status().message()));
    } else {
      *inputs_ = {};  // a graph before this one may just have been recorded: they may stay now
      calls_ = 0;
    }
    return false;
  }
  // Each in a pool of its own: what one puts its temporaries into must not be another's results.
  do {
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
    auto recording = Recording::make(pool_, *graph_, *given);
    if (!recording.ok()) {
      give_up(std::string(recording.status().message()));
      return false;
    }
    recordings_.push_back(*std::move(recording));
  } while (recordings_.size() < 2 && recordings_[0]->bytes() <= kMostHeldTwice);
  return true;
}

}  // namespace inductor
