// Perfect nests as passes see them: the loops around a leaf, taken apart and put together again.
//   FlatNest nest = FlatNest::take(program.body[i]);
//   nest.loops.pop_back(); ...
//   program.body[i] = nest.rebuild();
// Before scheduling every statement is a perfect nest or an extern call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inductor/ir/loop.h"
#include "inductor/ir/value_bounds.h"

namespace inductor {

struct FlatNest {
  std::vector<Loop> loops;  // outermost first, without bodies
  Stmt leaf;

  static FlatNest take(Stmt stmt);
  Stmt rebuild() &&;
  std::vector<const Loop*> around() const;  // as Loops
};

// The leaf under perfect loops; null for an extern call.
const Stmt* leaf_of(const Stmt& stmt);
Stmt* leaf_of(Stmt& stmt);

// Every nest's leaf, with the loops around it, to be changed in place.
void for_each_nest(LoopProgram& program, const std::function<void(Stmt& leaf, Loops)>& visit);

// Both lists, "aten::add, aten::mul", each operator once.
std::string joined_origins(const std::string& first, const std::string& second);

}  // namespace inductor
