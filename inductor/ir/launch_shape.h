// How many threads of a device run a kernel.
//   LaunchShape shape{4096, 256};      // 4096 blocks of 256 threads, in one dimension
#pragma once

#include "aten_bridge/symbolic/expr.h"

namespace inductor {

struct LaunchShape {
  aten_bridge::SymExpr blocks = 0;
  int threads = 0;  // of a block; 0: a CPU kernel, which spreads its own loops
};

}  // namespace inductor
