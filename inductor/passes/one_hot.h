// Sums of which one term at most is not zero, as that term: the gradient of a picked logit, summed.
//   for i1 < 9 reduction   sum[i0] += select(eq(index(i1), label[i0]), g[i0], 0)
//   ->                     sum[i0] = add(select(bit_and(ge(label[i0], 0), lt(label[i0], 9)), g[i0],
//   0), 0)
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void pick_terms(LoopProgram& program);

}  // namespace inductor
