// Brings each nest into canonical form: no loop of one iteration; loops that are not reductions
// outside, by falling stride of what is written, then reductions by falling stride of what is read;
// neighbours that walk every access as one loop are one.
//   for i0 < 4 { for i1 < 8 { y[8*i0 + i1] = x[8*i0 + i1] } }  becomes  for i2 < 32 { y[i2] = x[i2]
//   }
#pragma once

#include "inductor/passes/leaves.h"

namespace inductor {

void order_loops(LoopProgram& program);
void order_loops(LoopProgram& program, FlatNest& nest);

}  // namespace inductor
