// The operators that aten_bridge/graph/draws.h makes, as LibTorch runs them: the call that asks a
// GPU's generator where it stands and advances it; and numbers of such a state by ATen's kernels,
// for what no kernel of ours computes.
#pragma once

#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace inductor {

struct LinkedPlan;

inline constexpr std::string_view kPhiloxState = "torchdyn::philox_state";

// Before anything of a plan that draws is run: LeftToEager where its numbers would not be eager's,
// for where an input lies, or because the program records a CUDA graph, whose numbers are to differ
// each time it is replayed.
void check_draws(const LinkedPlan& plan, const std::vector<at::Tensor>& inputs);

}  // namespace inductor
