// CUDA graphs without a device: kernels that put what they do into a list while a pool records, and
// plans of such kernels.
//   ReplayedGraph graph(compiled(text), fake_pool);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inductor/runtime/aten/graph_pool.h"
#include "inductor/runtime/core/compiled_graph.h"

namespace fake_cuda {

struct Recorder {
  bool fails = false;            // whatever is recorded
  bool program_records = false;  // the program itself, on every stream
  int recorded = 0;
  int launches = 0;  // of kernels, by the host
  int replays = 0;
};
Recorder& recorder();

absl::StatusOr<std::unique_ptr<inductor::GraphPool>> fake_pool(c10::Device device);

// Every kernel of the plan is: the last buffer = twice the sum of the others and of its numbers,
// two words each, over four floats.
std::shared_ptr<const inductor::CompiledGraph> compiled(const std::string& plan);

}  // namespace fake_cuda
