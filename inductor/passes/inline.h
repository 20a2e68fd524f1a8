// Puts what a pointwise nest computes into the nests that read it, so that its buffer need not be.
//   for i0 < 32 { t[i0] = mul(x[i0], 2) }   for i1 < 32 { y[i1] = add(t[i1], 1) }
//   becomes for i1 < 32 { y[i1] = add(mul(x[i1], 2), 1) }
//
// Where each read element's writer is known exactly (affine.h), and computing it again costs
// little: its readers together ask for no more elements than there are, or it is cheap. A value
// with several readers of all of it stays, unless it is all but a copy: whether they share loops is
// the scheduler's question.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void inline_producers(LoopProgram& program);

}  // namespace inductor
