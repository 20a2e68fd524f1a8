// The passes over a LoopProgram: an ordered list of rows (list.cc). The runner verifies after each.
// verifies.
//   run_passes(program);
#pragma once

#include <span>
#include <string_view>

#include "inductor/ir/loop.h"

namespace inductor {

struct Pass {
  std::string_view name;
  void (*run)(LoopProgram&);
  std::string_view why_here;
};

std::span<const Pass> passes();
void run_passes(LoopProgram& program);

}  // namespace inductor
