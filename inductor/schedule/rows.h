// Rows that read the same values, as those of a normalisation read a mean and a scale a column.
//   const std::optional<Symbol> rows = take_rows_together(program, kernel);
//
//   for i0 < 401408, for i1 < 64: y[64*i0 + i1] = (x[64*i0 + i1] - m[i1]) * w[i1]
// becomes
//   for i0 < 25088, for i2 < 16, for i1 < 64: ..    a group has 16 rows, and m and w in registers
#pragma once

#include <optional>

#include "inductor/ir/loop.h"

namespace inductor {

// The loop over rows that one group takes; none where that does not pay.
std::optional<Symbol> take_rows_together(LoopProgram& program, Kernel& kernel);

}  // namespace inductor
