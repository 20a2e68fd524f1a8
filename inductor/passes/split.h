// Readers of a concatenation become one nest a part: it need not be made.
//   for i0 < 4: cat[i0] = a[i0]                          for i0 < 4: y[i0] = relu(a[i0])
//   for i1 < 4: cat[i1 + 4] = b[i1]                      for i1 < 4: y[i1 + 4] = relu(b[i1])
//   for i2 < 8: y[i2] = relu(cat[i2])
// Only where one nest reads it, once, and each element.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void split_readers(LoopProgram& program);

}  // namespace inductor
