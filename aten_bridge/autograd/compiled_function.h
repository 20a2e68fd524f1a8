// The autograd node that runs a compiled pair: forward now, backward when the engine comes by.
//   auto fn = std::make_shared<CompiledFunction>(...);
//   Tensors results = run(fn, primals);      // results carry grad_fn where differentiable
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/partition.h"
#include "aten_bridge/trace/capture.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

// Runs a graph: inputs in graph order, consumed (a buffer may be freed at its last use); outputs in
// order. It is called below autograd and autocast: a captured graph holds its casts and gradients.
using GraphRunner = std::function<std::vector<at::Tensor>(std::vector<at::Tensor> inputs)>;

struct CompiledFunction {
  int primals = 0;
  int results = 0;                   // graph results, see Captured
  std::vector<bool> differentiable;  // one a result; those that are have one tangent each, in order
  // What backward expects: tangents that come otherwise are made so (dense copy, zeros).
  std::vector<TensorType> tangents;
  // Which of them `backward` takes. Where another one comes all the same, the runner that takes all
  // is asked for; an empty one: the joint graph is run in its place.
  std::vector<bool> given;
  std::function<GraphRunner()> backward_of_all;  // null: `backward` takes all
  // Of each primal: the tangents that its gradient depends on. Where none of them is defined,
  // neither is the gradient.
  std::vector<std::vector<int>> tangents_of;
  std::vector<SavedValue> saved;
  // primals -> results, then saved values that are not primals.
  GraphRunner forward;
  // Saved values, then those tangents -> one gradient a primal. Empty: there is no gradient at all.
  GraphRunner backward;
  // For create_graph: the joint graph, run differentiably. Null: refused with a clear error.
  std::shared_ptr<const Joint> joint;
  SymbolMap sizes;  // the symbols of the joint graph; all else has these sizes
  // Whether `joint` draws random numbers: then it draws once more those that forward drew.
  bool draws = false;
  // Told of an internal error of `backward`; what it throws goes to the program. Then the joint
  // graph is run in its place. Null: the error goes to the program.
  std::function<void(const InternalError&)> broken;
  // Whether `backward` ran once: then it will, and may free what it is given at its last use.
  mutable std::atomic<bool> backward_runs = false;
};

// Saved values are SavedVariables: hooks run, version counters are checked, a second backward
// without retain_graph raises eager's error, and without it backward may free each saved value at
// its last use. Any number of threads may run one function, forward and backward.
std::vector<at::Tensor> run(const std::shared_ptr<const CompiledFunction>& fn,
                            std::vector<at::Tensor> primals);

}  // namespace aten_bridge
