// Merges a nest into the loops of a kernel.
//   Fusion f = fuse(program, body, nest, shared, features);
//   if (f.verdict) body = std::move(f.body);
//
// Two loops become one where one extent divides the other and no iteration of the merged loop uses
// what another one makes (share_iterations). Inside of it the nest's own inner loops go on: into
// the last loop that takes them, or behind everything. Order within an iteration is program order.
// On a GPU a nest may also follow without a loop in common, where all walk over the same columns
// (columns.h): sums over rows, and what is made of them.
#pragma once

#include <span>
#include <vector>

#include "aten_bridge/base/verdict.h"
#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

struct Fusion {
  aten_bridge::Verdict verdict;
  std::vector<Stmt> body;  // where the answer is yes
};

// `shared`: the buffers that both use, sorted. Split loops get new variables.
Fusion fuse(LoopProgram& program, const std::vector<Stmt>& body, const Stmt& nest,
            std::span<const int> shared, const Features& features);

}  // namespace inductor
