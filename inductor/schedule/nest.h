// One nest in the form that the scheduler works on.
//   for (LoopNest& nest : normalize(program, std::move(stmt), features)) ...
// Variables of its own; no loops of one iteration; loops ordered so that the innermost one walks
// memory; neighbours that walk memory as one loop are one; a large reduction over outer loops is
// cut into chunks.
#pragma once

#include <string>
#include <vector>

#include "inductor/ir/loop.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

struct LoopNest {
  Stmt stmt;  // loops around one leaf
  std::string origin;
};

// A nest taken apart.
struct Parts {
  std::vector<Loop> loops;  // without bodies, outermost first
  Stmt leaf;
};
Stmt put_together(Parts parts);
// In normal form, but not cut.
Parts in_order(LoopProgram& program, Stmt nest, const Features& features);
// Into how many chunks the rows of an outermost reduction are cut; 1: they are not.
int64_t chunk_count(const Parts& parts, const Features& features);

// More than one nest where a reduction is cut: partial results, then their sum.
std::vector<LoopNest> normalize(LoopProgram& program, LoopNest nest, const Features& features);

// Makes one loop of neighbours, here and inside, where all indices allow it.
void collapse(LoopProgram& program, Stmt& stmt);

// Replaces loop variables in everything inside.
void substitute(ExprPool& pool, Stmt& stmt, Symbol var, const SymExpr& value);

Symbol fresh_variable(LoopProgram& program);

}  // namespace inductor
