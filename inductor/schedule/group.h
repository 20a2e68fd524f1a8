// The program as kernels to be: which statement goes where, and in which order they run.
//   Grouping g = group(program, features);     // program.body: kernels and extern calls
#pragma once

#include <vector>

#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

// Fuses each nest into the earlier kernel that shares most with it, where the order of what depends
// on each other allows; other nests become kernels of their own. Returns why they did.
std::vector<FusionNote> group(LoopProgram& program, const Features& features);

}  // namespace inductor
