// The autograd node that runs a compiled pair: forward now, backward when the engine comes by.
//   auto fn = std::make_shared<CompiledFunction>(...);
//   Tensors results = run(fn, primals);      // results carry grad_fn where differentiable
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "aten_bridge/graph/partition.h"
#include "aten_bridge/trace/capture.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

// Runs a graph: inputs in graph order, consumed (a buffer may be freed at its last use); outputs in order.
using GraphRunner = std::function<std::vector<at::Tensor>(std::vector<at::Tensor> inputs)>;

struct CompiledFunction {
  int primals = 0;
  int results = 0;                   // graph results, see Captured
  std::vector<bool> differentiable;  // one a result; one tangent each for those that are, in order
  std::vector<TensorType> tangents;  // what backward expects; others are made so (dense copy, zeros)
  std::vector<SavedValue> saved;
  GraphRunner forward;   // primals -> results, then saved values that are not primals
  GraphRunner backward;  // saved values, then tangents -> one gradient a primal; empty: no gradient at all
  // For create_graph: the joint graph, run differentiably. May be null: then it is refused with a clear error.
  std::shared_ptr<const Joint> joint;
};

// Saved values are SavedVariables: hooks run, version counters are checked, a second backward without retain_graph raises
// eager's error, and without retain_graph backward frees each saved value at its last use.
std::vector<at::Tensor> run(const std::shared_ptr<const CompiledFunction>& fn,
                            std::vector<at::Tensor> primals);

}  // namespace aten_bridge
