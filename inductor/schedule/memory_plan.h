// Where each buffer of a scheduled program lives, and what a call does in which order.
//   KernelPlan plan = plan_memory(program, emitted);   // emitted: one a Kernel statement, in order
//
// Law
//  - Two buffers of the arena share bytes only if their lives (first write to last use) do not
//  meet.
//  - Small temporaries share the arena, the one allocation that a call makes for them all. One of
//    `own_bytes` or more is an allocation of its own, released at its last use as in eager: an
//    arena of large buffers would hold dead space that counts.
//  - Inputs, extern results and owned buffers that are not returned are released right after their
//    last use.
//  - The same program gives the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inductor/emit/emit.h"
#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {

struct MemoryOptions {
  int64_t own_bytes = 256 * 1024;  // from here on a temporary gets an allocation of its own
  int64_t alignment = 64;
};

KernelPlan plan_memory(const LoopProgram& program, std::span<const EmittedKernel> kernels,
                       const MemoryOptions& options = {});

// One buffer of the arena: its bytes, and its life in steps, both ends included.
struct Interval {
  int64_t bytes = 0;
  int first = 0, last = 0;
};
struct Arena {
  std::vector<int64_t> offsets;  // one an interval
  int64_t bytes = 0;
};

// Offsets for intervals, multiples of the alignment, in as few bytes as a few greedy orders find.
Arena place(std::span<const Interval> intervals, int64_t alignment);

}  // namespace inductor
