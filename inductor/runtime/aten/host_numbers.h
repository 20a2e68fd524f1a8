// Numbers of the host that a graph's kernels on a GPU are given by their contents: in a graph that
// is recorded they are those of each launch.
//   if (Verdict v = HostNumbers::can_give(graph); !v) ...
//   HostNumbers numbers(graph);
//   numbers.to_record(recorded, linked, pool);   // in the copy of a graph that is recorded
//   HostNumbers::Tensors given = numbers.of_call(inputs);
//   numbers.give(0, given, *pieces[0]);          // a generator may be asked, and goes on
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

  // From here on it asks no generator, and `pool` is told which kernels are given numbers.
  void to_record(CompiledGraph& graph, LinkedPlan& linked, GraphPool& pool) const;

  using Tensors = std::vector<at::Tensor>;  // one a buffer of the plan; most are undefined
  Tensors of_call(const Tensors& inputs) const;
  // What a piece draws joins the numbers, and its kernels are given theirs.
  void give(size_t piece, Tensors& numbers, RecordedGraph& recorded) const;
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

  struct Piece {
    std::vector<Drawn> drawn;
    std::vector<std::vector<int>> taken;  // by each launch that takes any
  };

  const std::shared_ptr<const LinkedPlan> linked_;
  size_t buffers_ = 0;
  std::vector<Given> given_;
  std::vector<Piece> pieces_;
  std::vector<int> outputs_;
};

}  // namespace inductor
