// Drops nests whose buffers nobody reads, then the buffers that nothing mentions. Extern calls
// stay: an operator that draws random numbers counts although its result is unused.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void drop_dead(LoopProgram& program);

}  // namespace inductor
