// What code for a GPU is for, in nvcc's words: "sm_90" is machine code, "compute_90" is PTX, which
// the driver compiles when it is loaded.
//   parse_cuda_target("sm_90") == CudaTarget{90, false};  parse_cuda_target("x86-64-v3"): none
//   runs_on({80, true}, 90)
#pragma once

#include <optional>
#include <string_view>

namespace inductor {

struct CudaTarget {
  int capability = 0;
  bool is_ptx = false;
};

std::optional<CudaTarget> parse_cuda_target(std::string_view text);

// Machine code runs on its own capability and on later ones of the same major number, PTX on all
// later ones.
bool runs_on(const CudaTarget& target, int capability);

}  // namespace inductor
