// How many bytes a kernel moves between memory and the cores: what a launch costs where arithmetic
// is cheap.
//   const Traffic t = traffic(program, kernel);
//   t.read;                 // 4096 * 1024 * 4 for the row of a softmax, although it is read twice
//
// The model: each element that a kernel touches is moved once, however many of its loops use it,
// since what they share is small (the scheduler sees to that) and stays close. Values read by place
// count as many elements as there are reads, at most the whole buffer. What a kernel makes itself
// it need not read; locals are free.
#pragma once

#include <cstdint>

#include "inductor/ir/loop.h"

namespace inductor {

struct Traffic {
  int64_t read = 0, written = 0;  // bytes; a symbolic extent counts as cost.h guesses it
};

Traffic traffic(const LoopProgram& program, const Kernel& kernel);

}  // namespace inductor
