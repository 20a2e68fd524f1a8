// Perfectly nested loops of a kernel as a list, to be cut and reordered.
//   if (auto chain = chain_of(kernel)) {
//     Loop outer = strip(program, *chain, 1, 16);            // loop 1 becomes 16 iterations of it
//     chain->loops.insert(chain->loops.begin(), outer);
//     kernel.body = rebuild(*std::move(chain));
//   }
#pragma once

#include <optional>
#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

struct Chain {
  std::vector<Loop> loops;  // outermost first, without bodies
  std::vector<Stmt> body;   // leaves
};

// None where a kernel is anything but two or more loops around leaves.
std::optional<Chain> chain_of(const Kernel& kernel);
std::vector<Stmt> rebuild(Chain chain);

// Makes loop `at` the inner part, of `size` iterations; returns the outer one.
Loop strip(LoopProgram& program, Chain& chain, size_t at, int64_t size);

}  // namespace inductor
