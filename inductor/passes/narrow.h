// Temporaries in the dtype that their values have before they are widened.
//   t[i0] = cast<f32>(h)   y[i1] = add(t[i1], 1)      where h is bf16 and t an f32
//   becomes t, a bf16: t[i0] = h   y[i1] = add(cast<f32>(t[i1]), 1)
// Half-precision programs compute in float32 and round at the end: what such a value is read as
// again takes twice the memory that it needs.
#pragma once

#include "inductor/ir/loop.h"

namespace inductor {

void narrow_temporaries(LoopProgram& program);

}  // namespace inductor
