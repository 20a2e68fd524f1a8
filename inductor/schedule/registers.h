// What the lanes of a group keep in registers on a GPU.
//   keep_values(program, kernel);   // single values that are stored and used again
//   keep_rows(program, kernel);     // rows that several loops read
#pragma once

#include <span>

#include "inductor/ir/loop.h"
#include "inductor/schedule/access.h"

namespace inductor {

// Where a buffer is used: the loops around, outermost first, and the index.
struct Use {
  std::vector<const Loop*> around;
  Access access;
  bool is_reduced;
};

// Whether lanes can keep a temporary: one value at a time, which all of them know, or a row of
// which each has the elements that it walks over.
bool lanes_can_keep(std::span<const Use> uses, const SymExpr& dropped, int64_t size);

// A single value that is stored between loops, or that a reduction leaves, goes to a variable
// first, which what follows reads; then to its buffer.
void keep_values(LoopProgram& program, Kernel& kernel);

// What several loops of one body read, each alike, is read by the first of them.
void keep_rows(LoopProgram& program, Kernel& kernel);

}  // namespace inductor
