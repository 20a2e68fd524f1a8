// A compiled graph that is called again and again on a GPU, run as one CUDA graph: a call then
// costs the host one launch in place of one a kernel.
//   ReplayedGraph graph(compiled);
//   std::vector<at::Tensor> out = graph.run(std::move(inputs));   // as inductor::run
//   graph.state();    // "replayed as one CUDA graph; 2 recordings, 3 inputs copied"
// For graphs that keep nothing for a backward (replay_training.h). The first calls run launch by
// launch and show which inputs stay where they are; those are read in place, and the
// others copied. What a recording returned is not overwritten while somebody holds it: another
// recording serves, or the call runs launch by launch, as it does on another stream or while the
// program records.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace at {
class Tensor;
}

namespace inductor {

class InputPlaces;
class Recording;

class ReplayedGraph {
 public:
  explicit ReplayedGraph(std::shared_ptr<const CompiledGraph> graph,
                         GraphPoolFactory make_pool = cuda_graph_pool);
  ~ReplayedGraph();

  // Any number of threads may run it; one at a time replays.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs);
  std::string state() const;

 private:
  std::optional<std::vector<at::Tensor>> replay(const std::vector<at::Tensor>& inputs);
  bool watch(const std::vector<at::Tensor>& inputs, void* stream);
  bool try_to_record(const std::vector<at::Tensor>& inputs);
  bool record(const std::vector<at::Tensor>& inputs);
  void give_up(std::string reason);

  const std::shared_ptr<const CompiledGraph> graph_;
  const GraphPoolFactory make_pool_;
  std::atomic<bool> gave_up_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::string reason_;        // why it gave up
  std::unique_ptr<InputPlaces> inputs_;
  int calls_ = 0;  // since an input moved
  int recordings_made_ = 0;
  std::shared_ptr<GraphPool> pool_;  // of the last recording
  std::vector<std::shared_ptr<Recording>> recordings_;
  void* stream_ = nullptr;  // of the last call, on which they run
};

}  // namespace inductor
