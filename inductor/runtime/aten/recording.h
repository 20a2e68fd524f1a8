// A call of a graph as it was recorded: what keeps a graph from it, where it reads, what it
// returns.
//   if (Verdict v = can_record(graph); !v) ...                   // whatever its inputs are
//   auto given = places.fix(inputs, graph);                      // copies of those that move
//   auto recording = Recording::make(pool, graph, *given);       // nothing is enqueued
//   places.fill(inputs);
//   std::vector<at::Tensor> outputs = Recording::replay(*recording, inputs, stream);
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"

#include "aten_bridge/base/verdict.h"
#include "inductor/runtime/aten/drawing_operators.h"
#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/aten/host_numbers.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace inductor {

inline constexpr int kWatched = 3;  // calls, before a recording
// Inputs may move, the stream change, or other results be held: then it is recorded once more, but
// not for ever.
inline constexpr int kMostRecorded = 4;

aten_bridge::Verdict can_record(const CompiledGraph& graph);
int64_t launches_of(const CompiledGraph& graph);

// Where the inputs of a graph's calls lie, and which of them lie elsewhere from call to call. Those
// on the host may lie anywhere.
class InputPlaces {
 public:
  // Whether they lie where they lay, but for those that are known to move, as the others are from
  // here on. The first call only tells.
  bool stay(const std::vector<at::Tensor>& inputs);
  // The same, learning nothing.
  bool hold(const std::vector<at::Tensor>& inputs) const;
  void let_move(size_t input) { inputs_[input].moves = true; }

  // What a recording reads: inputs that stay, and copies of others. A status where copies would
  // take longer than the launches that it saves.
  absl::StatusOr<std::vector<at::Tensor>> fix(const std::vector<at::Tensor>& inputs,
                                              const CompiledGraph& graph);
  void fill(const std::vector<at::Tensor>& inputs) const;

  bool is_fixed(const void* address) const;  // whether an input that stays lies there
  int moving() const;

 private:
  struct Input {
    const void* address = nullptr;
    bool is_host = false;
    bool moves = false;
    at::Tensor copy;  // of one that moves
  };
  std::vector<Input> inputs_;
};

// Shared with whoever holds a result of it.
class Recording {
 public:
  // `given` is consumed as by run(). A status where the graph cannot be recorded after all.
  static absl::StatusOr<std::shared_ptr<Recording>> make(std::shared_ptr<GraphPool> pool,
                                                         const CompiledGraph& graph,
                                                         std::vector<at::Tensor> given);
  // Returns tensors over the results' memory that hold the recording; they share what the results
  // share. Of `inputs` those on the host are read: all others lie where they lay, or are copied.
  static std::vector<at::Tensor> replay(const std::shared_ptr<Recording>& self,
                                        const std::vector<at::Tensor>& inputs, void* stream);
  static bool is_lent(const std::shared_ptr<Recording>& self) { return self.use_count() > 1; }

  const std::vector<at::Tensor>& outputs() const { return outputs_; }
  int64_t bytes() const;

  // The memory in which results lie that begins at an address; none where it was let go.
  c10::Storage memory_at(const void* address) const;
  // From here on the pool may give it to the next recording.
  void let_go(const void* address);

 private:
  struct Memory {
    c10::Storage kept;  // the pool's; none: let go
    c10::Storage seen;  // the same bytes, not kept
  };

  Recording(std::shared_ptr<GraphPool> pool, const CompiledGraph& graph)
      : pool_(std::move(pool)), numbers_(graph), operators_(graph) {}
  static std::vector<at::Tensor> lend(const std::shared_ptr<Recording>& self,
                                      const HostNumbers::Tensors& numbers);
  void keep(const std::vector<at::Tensor>& outputs);

  const std::shared_ptr<GraphPool> pool_;  // let go last
  const HostNumbers numbers_;
  DrawingOperators operators_;
  GraphPool::Pieces pieces_;         // one more than operators
  std::vector<Memory> memory_;       // each once
  std::vector<at::Tensor> outputs_;  // over what is seen
  std::vector<int> memory_of_;       // of each output; -1: it is undefined, or the host's
};

}  // namespace inductor
