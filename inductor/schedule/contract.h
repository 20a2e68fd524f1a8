// Buffers that need not be in memory.
//   forward_stores(program, kernel);   // a load after a store of the same element: the stored
//   value remove_unread(program);            // stores to temporaries that nobody reads
//   make_local(program, features);     // temporaries of one kernel: a row private to an iteration
#pragma once

#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

// Within each sequence of statements; stores stay.
void forward_stores(LoopProgram& program, Kernel& kernel);

// Loops and kernels that become empty go too. Buffers stay in the table, unused.
void remove_unread(LoopProgram& program);

// Around all of its uses in the one kernel that uses it, a temporary's index is a constant plus the
// same multiple of each common loop: drop those terms and keep the rest as a scratch row.
void make_local(LoopProgram& program, const Features& features);

}  // namespace inductor
