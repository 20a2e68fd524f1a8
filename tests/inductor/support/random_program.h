// Loop programs made at random: chains of pointwise nests, reductions of all kinds, transposes,
// concatenations, gathers and scatters over small shapes with edges (1, 7, 8, 9, 100 ...).
//   LoopProgram p = random_program(seed);          // the same seed, the same program
#pragma once

#include <string>

#include "inductor/ir/loop.h"

namespace inductor::testing {

std::string random_program_text(unsigned seed);
LoopProgram random_program(unsigned seed);  // parsed and verified

}  // namespace inductor::testing
