// Records what a C++ callable computes with tensors, forward and backward, without running any of
// it.
//   CaptureInputs in{{x, w}, {"x", "w"}};
//   Captured c = capture(in, [&](const std::vector<at::Tensor>& t) { return Tensors{t[0].mm(t[1])};
//   }, {}); print(c.joint.graph);
//
// The callable runs once, on the calling thread, with fakes in place of the inputs; wherever it
// meets one of the real input tensors itself (a module's member), the fake is substituted by
// identity. When an input requires grad and grad mode is on, the backward of the differentiable
// results is recorded in the same scope. Afterwards the inputs, their .grad and version counters
// and all generators are as before.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "aten_bridge/base/numerics.h"
#include "aten_bridge/graph/graph.h"
#include "aten_bridge/graph/partition.h"
#include "aten_bridge/trace/value_reads.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

// Capture does not understand the program: this call runs in eager, with this reason.
// what(): one sentence with the operator that met it and what the user can do.
class CaptureError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Tensors = std::vector<at::Tensor>;

struct CaptureInputs {
  const Tensors& tensors;                 // all defined, each TensorImpl once
  const std::vector<std::string>& names;  // for graph inputs and messages: "x", "model.wte.weight"
  // What each input is to be taken for, of its rank; none, or an empty list: what it is. Then
  // nothing may read its values.
  std::vector<std::optional<TensorType>> types = {};
  // Whether captures at other sizes are laid beside this one (generalize.h).
  bool sizes_are_open = false;
};

// Where one tensor that the callable returned comes from at run time.
struct ResultSource {
  enum class Kind : uint8_t {
    kUndefined,
    kGraph,        // the graph result number `index`
    kInput,        // the input number `index` itself: the same tensor
    kViewOfInput,  // input.as_strided(sizes, strides, input.storage_offset() + offset),
                   // differentiable
    kViewOfGraph,  // likewise a view of graph result number `index` (two results that share memory)
  };
  Kind kind = Kind::kUndefined;
  int index = -1;
  std::vector<SymExpr> sizes, strides;
  SymExpr offset;
  bool detached = false;  // a view without gradient of a tensor that carries one
};

struct Mutation {
  int input = -1;   // this input's data was changed in place;
  int result = -1;  // its new value is this graph result, to be copied into it after the run
};

// What capture read from values: the operator whose results' sizes it fixed ran with these sizes,
// or graph result number `result` was this number; or must be, since eager raises otherwise.
struct Assumption {
  int result = -1;
  std::optional<HostNumber> number;
  bool raises = false;
};

struct Captured {
  // Graph results (joint.results of them): what is returned, the new values of mutated inputs, then
  // what assumptions are about.
  // With no gradient to compute, tangents == 0 and there are no gradient outputs.
  Joint joint;
  // Tensors that the callable made from numbers: the last primals, the same on every run.
  Tensors constants;
  std::vector<ResultSource> results;  // one a tensor that the callable returned, in order
  std::vector<Mutation> mutations;
  // A run where one of them does not hold throws AssumptionFailed, or shows it in the results.
  std::vector<Assumption> assumptions;
  bool draws = false;  // random numbers
  // Per graph result: does it carry a gradient? One tangent each for those that do, in order.
  std::vector<bool> differentiable;
};

using TracedCallable = std::function<Tensors(const Tensors&)>;

// Under Numerics::kEager, what decompositions round otherwise than eager stays one operator.
// Throws CaptureError; what the callable itself throws passes through. TD_CHECK failures are
// InternalError.
Captured capture(const CaptureInputs& inputs, const TracedCallable& callable,
                 Numerics numerics = Numerics::kDefault);

// True while the calling thread is inside capture(): a compiled callable met there is inlined.
bool capturing();

}  // namespace aten_bridge
