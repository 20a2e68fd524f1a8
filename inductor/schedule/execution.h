// How a kernel's loops run: split over threads, several iterations at once.
//   choose_execution(program, kernel, features);
#pragma once

#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

void choose_execution(const LoopProgram& program, Kernel& kernel, const Features& features);

}  // namespace inductor
