// Runs a program and says how one run of it differs from eager's.
//   std::string problem = difference(program, compiled);     // "" where they agree
//
// Compared are results, gradients and changed inputs: values, dtypes, sizes and strides, presence
// of gradients, which share memory, and whether something is raised. A rounded value may be as far
// from float64's as twice eager's own error, or as twice what eager makes when all that rounding
// steps read and write is off by a few units in the last place.
#pragma once

#include <functional>
#include <string>

#include "torchdyn/replay/program.h"

namespace replay {

using Run = std::function<Tensors(const Tensors& inputs)>;

struct Outcome {
  Tensors results, gradients, inputs;
  std::string error;         // what was raised
  std::vector<int> sharing;  // of inputs and results: numbers of storages by first appearance
};

// Forward, and backward where something requires a gradient.
Outcome run(const Run& run, const aten_bridge::Graph& program);
Run eager(const aten_bridge::Graph& program);
std::string difference(const aten_bridge::Graph& program, const Run& compiled);

}  // namespace replay
