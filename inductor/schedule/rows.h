// Rows that read the same values, as those of a normalisation read a mean and a scale a column.
//   take_rows_together(program, kernel);
//
//   for i0 < 401408, for i1 < 64: y[64*i0 + i1] = (x[64*i0 + i1] - m[i1]) * w[i1]
// becomes
//   for i0 < 784, for i2 < 512 reduction, for i1 < 64: ..
// A block has 512 rows: its groups divide them as those of a sum, and keep m and w in registers.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void take_rows_together(LoopProgram& program, Kernel& kernel);

}  // namespace inductor
