// A compiled forward and its backward, called again and again on a GPU, as two CUDA graphs over one
// pool of memory.
//   ReplayedTraining pair(forward, backward, /*results=*/1);
//   std::vector<at::Tensor> out = pair.forward(std::move(primals));  // results, then saved values
//   std::vector<at::Tensor> gradients = pair.backward(std::move(saved_and_tangents));
// The README says which tensors live where. Nothing is overwritten that somebody holds: a call that
// would runs launch by launch, as does one on another stream, or while the program records.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace at {
class Tensor;
}

namespace inductor {

class ReplayedTraining {
 public:
  // `results`: the forward's outputs that the program is given; a backward alone gets the others.
  ReplayedTraining(std::shared_ptr<const CompiledGraph> forward,
                   std::shared_ptr<const CompiledGraph> backward, int results,
                   GraphPoolFactory make_pool = cuda_graph_pool);
  ~ReplayedTraining();

  // As inductor::run. Any number of threads may run them; one at a time replays.
  std::vector<at::Tensor> forward(std::vector<at::Tensor> inputs);
  std::vector<at::Tensor> backward(std::vector<at::Tensor> inputs);
  std::string state() const;

 private:
  struct Seen;
  struct Recorded;

  std::optional<std::vector<at::Tensor>> replay_forward(const std::vector<at::Tensor>& inputs);
  std::optional<std::vector<at::Tensor>> replay_backward(const std::vector<at::Tensor>& inputs);
  bool watch(const std::vector<at::Tensor>& inputs, void* stream);
  absl::Status record_forward(const std::vector<at::Tensor>& inputs);
  absl::Status record_backward(const std::vector<at::Tensor>& inputs);
  // The recording of a call, or a reason to give up.
  bool try_to(absl::Status (ReplayedTraining::*record)(const std::vector<at::Tensor>& inputs),
              const std::vector<at::Tensor>& inputs);
  bool may_launch_forward();
  bool is_too_large() const;
  void let_go();
  void give_up(std::string reason);

  const std::shared_ptr<const CompiledGraph> forward_, backward_;
  const int results_;
  const GraphPoolFactory make_pool_;
  std::atomic<bool> gave_up_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::string reason_;        // why it gave up
  std::unique_ptr<Seen> seen_;
  std::unique_ptr<Recorded> recorded_;  // null: not yet
  int recordings_made_ = 0;
};

}  // namespace inductor
