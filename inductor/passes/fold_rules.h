// The rewrite rules of folding: patterns over scalar operators, each with the domain it holds on.
//   {x * 1, x, "FI"}     // on floating and integer x
// A rule keeps the value of every element, NaN and the sign of zero included, and makes the term
// smaller; hence rewriting ends. A property test evaluates both sides of every row.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "inductor/ir/expr.h"

namespace inductor {

// A term with holes: a variable matches any expression, the same one wherever it occurs.
struct Pattern {
  std::optional<ScalarOp> op;  // none: a variable or a literal
  int variable = -1;
  double literal = 0;
  std::vector<Pattern> args{};
};

struct Rule {
  Pattern from, to;
  std::string_view domain;  // of the last argument at the root of `from`, as in scalar_ops.def
};

std::span<const Rule> fold_rules();

// What stands in the place of `e` by the first rule that matches at its root; null where none does.
Expr apply_rules(ExprPool& pool, Expr e);
// `pattern` with expressions for its variables, literals in `dtype` (bool in conditions).
Expr instantiate(ExprPool& pool, const Pattern& pattern, std::span<const Expr> variables,
                 DType dtype);

}  // namespace inductor
