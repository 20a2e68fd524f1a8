// Simplifications of floor_div, mod, min and max. Each holds for all integers and positive
// divisors: nothing is known about symbols here (bounds.h knows more).
#include <numeric>

#include "aten_bridge/base/check.h"
#include "aten_bridge/symbolic/node.h"

namespace aten_bridge {
namespace {

struct Division {  // a == quotient * b + remainder
  SymExpr quotient, remainder;
};

// The factors of `all` without those of `some`; nullopt when some are not among them.
std::optional<Factors> without(const Factors& all, const Factors& some) {
  Factors rest;
  size_t taken = 0;
  for (const auto& atom : all) {
    if (taken < some.size() && compare(Factors{atom}, Factors{some[taken]}) == 0) {
      ++taken;
    } else {
      rest.push_back(atom);
    }
  }
  if (taken != some.size()) return std::nullopt;
  return rest;
}

// Divides every coefficient, so that those of the remainder lie in [0, b).
Division divide_by_constant(const SymExpr& a, int64_t b) {
  std::vector<Term> quotient, remainder;
  for (const Term& t : terms_of(a)) {
    const int64_t q = floor_quotient(t.coefficient, b), r = floor_remainder(t.coefficient, b);
    if (q != 0) quotient.push_back({q, t.factors});
    if (r != 0) remainder.push_back({r, t.factors});
  }
  return {make_sum(std::move(quotient), floor_quotient(constant_of(a), b)),
          make_sum(std::move(remainder), floor_remainder(constant_of(a), b))};
}

// Takes out the terms that are multiples of b, where b is a single term.
Division divide_by_term(const SymExpr& a, const Term& b) {
  SymExpr quotient = 0;
  std::vector<Term> remainder;
  for (const Term& t : terms_of(a)) {
    std::optional<Factors> rest = without(t.factors, b.factors);
    if (!rest || t.coefficient % b.coefficient != 0) {
      remainder.push_back(t);
    } else if (const int64_t q = t.coefficient / b.coefficient; rest->empty()) {
      quotient += q;
    } else {
      quotient += make_sum({{q, std::move(*rest)}}, 0);
    }
  }
  return {std::move(quotient), make_sum(std::move(remainder), constant_of(a))};
}

Division divide(const SymExpr& a, const SymExpr& b) {
  if (b.is_constant()) return divide_by_constant(a, b.as_constant());
  if (terms_of(b).size() == 1 && constant_of(b) == 0) return divide_by_term(a, terms_of(b)[0]);
  if (a == b) return {1, 0};
  return {0, a};
}

// The atom of `e` when e == atom + constant, of the kind asked for and with a constant divisor.
const Atom* lone_atom(const SymExpr& e, Atom::Kind kind) {
  if (terms_of(e).size() != 1) return nullptr;
  const Term& t = terms_of(e)[0];
  if (t.coefficient != 1 || t.factors.size() != 1) return nullptr;
  const Atom* atom = t.factors[0].get();
  return atom->kind == kind && atom->b.is_constant() ? atom : nullptr;
}

// Of all coefficients and the divisor; the constant is left out.
int64_t common_factor(const SymExpr& e, int64_t divisor) {
  for (const Term& t : terms_of(e)) divisor = std::gcd(divisor, t.coefficient);
  return divisor;
}

SymExpr divide_exactly(const SymExpr& e, int64_t g) {
  std::vector<Term> terms = terms_of(e);
  for (Term& t : terms) t.coefficient /= g;
  return make_sum(std::move(terms), floor_quotient(constant_of(e), g));
}

// floor(r / b) for a constant b; r's coefficients are in [0, b).
SymExpr quotient_of(const SymExpr& r, int64_t b) {
  if (r.is_constant()) return floor_quotient(r.as_constant(), b);
  // floor((g*x + k) / (g*b)) == floor((x + floor(k/g)) / b)
  if (const int64_t g = common_factor(r, b); g > 1) return floor_div(divide_exactly(r, g), b / g);
  // floor((floor(x / c) + k) / b) == floor((x + k*c) / (c*b))
  int64_t divisor, shift;
  if (const Atom* inner = lone_atom(r, Atom::Kind::kFloorDiv);
      inner && !__builtin_mul_overflow(inner->b.as_constant(), b, &divisor) &&
      !__builtin_mul_overflow(inner->b.as_constant(), constant_of(r), &shift))
    return floor_div(inner->a + shift, divisor);
  // x mod c lies in [0, c)
  if (const Atom* inner = lone_atom(r, Atom::Kind::kMod);
      inner && inner->b.as_constant() <= b - constant_of(r))
    return 0;
  return make_call(Atom::Kind::kFloorDiv, r, b);
}

// k * (x mod c) mod b == k*x mod b when b divides k*c.
SymExpr without_inner_mods(const SymExpr& e, int64_t b) {
  SymExpr sum = constant_of(e);
  for (const Term& t : terms_of(e)) {
    const Atom* atom = t.factors.size() == 1 ? t.factors[0].get() : nullptr;
    const bool redundant = atom && atom->kind == Atom::Kind::kMod && atom->b.is_constant() &&
                           atom->b.as_constant() % (b / std::gcd(b, t.coefficient)) == 0;
    sum += redundant ? atom->a * t.coefficient : make_sum({t}, 0);
  }
  return sum;
}

SymExpr remainder_of(const SymExpr& r, int64_t b) {
  if (r.is_constant()) return floor_remainder(r.as_constant(), b);
  // (g*x + k) mod (g*b) == g * ((x + floor(k/g)) mod b) + k mod g
  if (const int64_t g = common_factor(r, b); g > 1)
    return mod(divide_exactly(r, g), b / g) * g + floor_remainder(constant_of(r), g);
  if (const Atom* inner = lone_atom(r, Atom::Kind::kMod);
      inner && inner->b.as_constant() <= b - constant_of(r))
    return r;
  if (SymExpr flat = without_inner_mods(r, b); !(flat == r)) return mod(flat, b);
  return make_call(Atom::Kind::kMod, r, b);
}

SymExpr extremum(Atom::Kind kind, const SymExpr& a, const SymExpr& b) {
  if (const SymExpr difference = a - b; difference.is_constant())
    return (difference.as_constant() < 0) == (kind == Atom::Kind::kMin) ? a : b;
  return compare(a, b) < 0 ? make_call(kind, a, b) : make_call(kind, b, a);
}

void check_divisor(const SymExpr& b) {
  TD_CHECK(!b.is_constant() || b.as_constant() > 0, "the divisor is ", b.str());
}

}  // namespace

SymExpr floor_div(const SymExpr& a, const SymExpr& b) {
  check_divisor(b);
  if (a.is_constant() && b.is_constant()) return floor_quotient(a.as_constant(), b.as_constant());
  auto [quotient, remainder] = divide(a, b);
  if (b.is_constant()) return quotient + quotient_of(remainder, b.as_constant());
  if (remainder == 0) return quotient;
  return quotient + make_call(Atom::Kind::kFloorDiv, remainder, b);
}

SymExpr mod(const SymExpr& a, const SymExpr& b) {
  check_divisor(b);
  if (a.is_constant() && b.is_constant()) return floor_remainder(a.as_constant(), b.as_constant());
  const SymExpr remainder = divide(a, b).remainder;
  if (b.is_constant()) return remainder_of(remainder, b.as_constant());
  return remainder == 0 ? remainder : make_call(Atom::Kind::kMod, remainder, b);
}

SymExpr min(const SymExpr& a, const SymExpr& b) { return extremum(Atom::Kind::kMin, a, b); }
SymExpr max(const SymExpr& a, const SymExpr& b) { return extremum(Atom::Kind::kMax, a, b); }

SymExpr apply(Atom::Kind kind, const SymExpr& a, const SymExpr& b) {
  switch (kind) {
    case Atom::Kind::kFloorDiv:
      return floor_div(a, b);
    case Atom::Kind::kMod:
      return mod(a, b);
    case Atom::Kind::kMin:
      return min(a, b);
    case Atom::Kind::kMax:
      return max(a, b);
    case Atom::Kind::kSymbol:
      break;
  }
  TD_CHECK(false, "a symbol is no function");
}

}  // namespace aten_bridge
