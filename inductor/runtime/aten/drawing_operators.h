// Operators of ATen's that draw random numbers, in a graph that is recorded. A generator lets no
// graph of ours draw, so they run between two pieces of it, over memory that lies where it lay.
//   DrawingOperators operators(graph);
//   operators.stand_in(linked, pool);     // in the copy of a plan that is recorded: cuts
//   operators.run(0);                     // between the launches of pieces 0 and 1
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace inductor {

struct LinkedCall;

class DrawingOperators {
 public:
  static bool is_one(const LinkedCall& call);

  explicit DrawingOperators(const CompiledGraph& graph);
  size_t count() const { return operators_.size(); }
  // Of `linked`, which is recorded once and outlives that.
  void stand_in(LinkedPlan& linked, GraphPool& pool);
  void run(size_t index) const;

 private:
  struct Operator {
    size_t call;
    std::vector<int> outputs;        // buffers; -1: not used
    std::vector<c10::IValue> stack;  // arguments, whose memory it does not keep
    std::vector<at::Tensor> places;  // of results, likewise
  };
  void record(Operator& op, std::vector<c10::IValue>& stack, const LinkedPlan& linked) const;

  const std::shared_ptr<const LinkedPlan> linked_;
  std::vector<Operator> operators_;
};

}  // namespace inductor
