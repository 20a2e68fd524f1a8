// Groups nests into kernels: which loops are merged, run in parallel and vectorised, what stays
// local.
//   schedule(program, features);      // afterwards body holds Kernel and ExternCall statements
//   only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

struct Features {                          // of a device, as far as schedules depend on it
  int64_t fast_memory_bytes = 256 * 1024;  // a row kept close: L2 a core
  int64_t local_bytes = 64 * 1024;         // of a kernel's scratch rows, which lie on the stack
  bool has_lanes = false;          // a GPU: threads share rows, which lie in their registers
  int64_t most_chunks = 64;        // of a reduction: enough for many threads, few to sum afterwards
  int64_t least_parallel = 16;     // iterations left in a kernel's outermost loop
  int64_t small_work = 64 * 1024;  // of kernels that one thread, or one block, runs as well
  int64_t tiny_work = 256 * 1024;  // of kernels that may join without sharing anything
};

struct FusionNote {  // why two neighbours were not fused; for explain()
  std::string first, second, reason;
  bool operator==(const FusionNote&) const = default;
};

std::vector<FusionNote> schedule(LoopProgram& program, const Features& features);

}  // namespace inductor
