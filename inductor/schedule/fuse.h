// Merges a nest into the loops of another.
//   Fusion f = fuse(program, body, nest, features);
//   if (f.verdict) body = std::move(f.body);
//
// Two loops become one where one extent divides the other and no iteration of the merged loop uses
// what another one makes (share_iterations). Inside of it the nest's own inner loops go on: into
// the last loop that takes them, or behind everything. Order within an iteration is program order.
#pragma once

#include <vector>

#include "aten_bridge/base/verdict.h"
#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

struct Fusion {
  aten_bridge::Verdict verdict = aten_bridge::Verdict::yes();
  std::vector<Stmt> body;
};

// `body`: a kernel's. The new variables of split loops come from the program.
Fusion fuse(LoopProgram& program, const std::vector<Stmt>& body, const Stmt& nest,
            const Features& features);

}  // namespace inductor
