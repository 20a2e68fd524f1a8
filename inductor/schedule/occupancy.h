// How long a kernel takes on a GPU when the threads that its loops employ are too few to keep the
// memory busy: what decides whether a fusion pays.
//   time(program, fused) <= time(program, one) + time(program, other) + kLaunch + bytes saved
#pragma once

#include <cstdint>
#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

// What a launch costs, as bytes that could be moved meanwhile.
inline constexpr int64_t kLaunch = 8 * 1024 * 1024;

// Whether there are threads enough, of which each does elements of its own: then what `time` says
// is the bytes alone, and a fusion saves some of them.
bool runs_at_memory_rate(const std::vector<Stmt>& body);

// Bytes that the loops read and write, each statement's times how many more threads would be
// needed to move them at the memory's rate; twice that where rows and sums of their columns have no
// registers; at least what its iterations take that one thread runs one after another. Divides the
// loops as choose_blocks would.
int64_t time(LoopProgram& program, const std::vector<Stmt>& body);

}  // namespace inductor
