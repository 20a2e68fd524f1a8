// Reads out what a program did: where its results come from, and which inputs it changed.
//   Readout readout = read_out(results, stand_ins, recorder);
#pragma once

#include <vector>

#include "aten_bridge/trace/capture.h"

namespace at {
class Tensor;
}

namespace aten_bridge {

class Recorder;
class Substitution;

struct Readout {
  std::vector<ResultSource> sources;  // one a result of the program
  std::vector<Mutation> mutations;
  // The graph results: functional wrappers of what is returned, then of the mutated inputs.
  Tensors graph_results;
  int returned = 0;  // the first so many of graph_results are not mutations
};

// Inside a capture scope. Throws CaptureError.
Readout read_out(const Tensors& results, const Substitution& substitution);

// The fake inside a wrapper, pending changes applied.
at::Tensor fake_in(const at::Tensor& wrapper);

}  // namespace aten_bridge
