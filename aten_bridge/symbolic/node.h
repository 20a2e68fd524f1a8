// How an expression is stored; for the files of this folder only.
//   3*s0*i0 + floor_div(i1, 4) + 6  is  Node{terms: {3, [i0, s0]}, {1, [floor_div(i1, 4)]};
//   constant: 6}
//
// Canonical: factors are sorted, terms are sorted by their factors and have distinct ones, no
// coefficient is zero, and there is at least one term (a plain constant has no node).
#pragma once

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

struct Atom {
  enum class Kind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax };
  Kind kind;
  Symbol symbol{};  // of kSymbol
  SymExpr a, b;     // of the others
  size_t hash = 0;
};
using Factors = absl::InlinedVector<std::shared_ptr<const Atom>, 2>;

struct Term {
  int64_t coefficient;
  Factors factors;
};

struct SymExpr::Node {
  std::vector<Term> terms;
  int64_t constant;
  size_t hash;
};

struct SymExprAccess {
  static const SymExpr::Node* node(const SymExpr& e) { return e.node_.get(); }
  static SymExpr make(std::shared_ptr<const SymExpr::Node> node);
};

// A view of any expression as a sum, constants included.
const std::vector<Term>& terms_of(const SymExpr& e);
int64_t constant_of(const SymExpr& e);
// Sorts, merges and drops what cancels.
SymExpr make_sum(std::vector<Term> terms, int64_t constant);
// An atom as an expression, not simplified: the rules call it when nothing else applies.
SymExpr make_call(Atom::Kind kind, SymExpr a, SymExpr b);
// Applies the function that the kind names, with its simplifications.
SymExpr apply(Atom::Kind kind, const SymExpr& a, const SymExpr& b);

// A total order on structure; the same in every process.
std::strong_ordering compare(const Factors& a, const Factors& b);
std::strong_ordering compare(const SymExpr& a, const SymExpr& b);

// Exact arithmetic; overflow is an InternalError.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_multiply(int64_t a, int64_t b);
// Towards minus infinity; the divisor is positive (checked).
int64_t floor_quotient(int64_t a, int64_t b);
int64_t floor_remainder(int64_t a, int64_t b);

}  // namespace aten_bridge
