// Indices as sums of strides times symbols, and their inversion.
//   invert(4*i0 + i1 of i0 < 8, i1 < 4, at 4*i7 + i8 with i8 < 4)   ==   {i0: i7, i1: i8}
#pragma once

#include <optional>
#include <variant>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/value_bounds.h"
#include "inductor/passes/leaves.h"

namespace inductor {

struct Affine {  // sum of coefficient * symbol, plus rest, which mentions none of those symbols
  std::vector<std::pair<Symbol, int64_t>> terms;
  SymExpr rest;
};
Affine affine(const SymExpr& index);

// A loop of the reader that must be cut into an outer one and an inner one of `inner` iterations.
struct Cut {
  Symbol var;
  int64_t inner;
};

// Which iteration of the writer's loops wrote the element at `read`: a value for each variable.
// Or a cut of a reader's loop after which there may be one. Or neither.
using Inversion = std::variant<std::monostate, SymbolMap, Cut>;
Inversion invert(const SymExpr& written, Loops writer, const SymExpr& read,
                 std::span<const Expr> symbol_values, Loops reader);
// i over n*m becomes m*outer + inner; a later pass merges them again where nothing forbids it.
void apply_cut(LoopProgram& program, const Cut& cut, FlatNest& nest);

}  // namespace inductor
