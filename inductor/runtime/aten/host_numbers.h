// Numbers of the host that a graph's kernels on a GPU are given by their contents: in a graph that
// is recorded they are those of each launch.
//   if (Verdict v = HostNumbers::can_give(graph); !v) ...
//   HostNumbers numbers(graph);
//   pool.record([&] { run(numbers.to_record(graph, pool), inputs); });
//   auto given = numbers.of_call(inputs);       // a generator may be asked, and goes on
//   numbers.give(given, recorded);
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "aten_bridge/base/verdict.h"
#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace inductor {

class HostNumbers {
 public:
  // Whether launches alone read what is on the host, and the caller or generators give it.
  static aten_bridge::Verdict can_give(const CompiledGraph& graph);
  explicit HostNumbers(const CompiledGraph& graph);

  // The same kernels over the same memory, asking no generator; `pool` is told which of them are
  // given numbers.
  CompiledGraph to_record(const CompiledGraph& graph, GraphPool& pool) const;

  using Tensors = std::vector<at::Tensor>;  // one a buffer of the plan; most are undefined
  Tensors of_call(const Tensors& inputs) const;
  void give(const Tensors& numbers, RecordedGraph& recorded) const;
  // Of an output that is such numbers; -1: it is not.
  int buffer_of(size_t output) const { return outputs_[output]; }

 private:
  struct Given {
    size_t input;
    int buffer;
  };
  struct Drawn {
    size_t call;
    int buffer;
  };

  const std::shared_ptr<const LinkedPlan> linked_;
  size_t buffers_ = 0;
  std::vector<Given> given_;
  std::vector<Drawn> drawn_;
  std::vector<std::vector<int>> taken_;  // by each launch that takes any
  std::vector<int> outputs_;
};

}  // namespace inductor
