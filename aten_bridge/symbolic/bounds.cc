#include "aten_bridge/symbolic/bounds.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/symbolic/node.h"

namespace aten_bridge {
namespace {

constexpr int64_t kMinus = std::numeric_limits<int64_t>::min();  // unbounded below
constexpr int64_t kPlus = std::numeric_limits<int64_t>::max();   // unbounded above

bool is_infinite(int64_t x) { return x == kMinus || x == kPlus; }

// What does not fit is unbounded, which is sound.
int64_t saturate(__int128 x) {
  return static_cast<int64_t>(std::clamp<__int128>(x, kMinus, kPlus));
}

int64_t multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kPlus : kMinus;
  return saturate(static_cast<__int128>(a) * b);
}

// Both are lower bounds, or both are upper bounds: `unbounded` is the infinity of that side.
int64_t add(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  return saturate(static_cast<__int128>(a) + b);
}

int64_t divide(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (b == kPlus) return a < 0 ? -1 : 0;
  return floor_quotient(a, b);
}

// Of an operation that is monotone in each argument: its extremes lie at the corners.
template <class Operation>
Bounds at_corners(const Bounds& a, const Bounds& b, Operation operation) {
  const auto [low, high] = std::minmax({operation(a.low, b.low), operation(a.low, b.high),
                                        operation(a.high, b.low), operation(a.high, b.high)});
  return {low, high};
}

Bounds add(const Bounds& a, const Bounds& b) {
  return {add(a.low, b.low, kMinus), add(a.high, b.high, kPlus)};
}

Bounds multiply(const Bounds& a, const Bounds& b) {
  return at_corners(a, b, [](int64_t x, int64_t y) { return multiply(x, y); });
}

// Divisors are positive by the law of expr.h.
Bounds positive(const Bounds& b) {
  return {std::max<int64_t>(b.low, 1), std::max<int64_t>(b.high, 1)};
}

Bounds floor_div(const Bounds& a, const Bounds& b) {
  return at_corners(a, positive(b), [](int64_t x, int64_t y) { return divide(x, y); });
}

Bounds mod(const Bounds& a, const Bounds& divisor) {
  const Bounds b = positive(divisor);
  const bool finite = !is_infinite(a.low) && !is_infinite(a.high);
  if (a.low >= 0 && a.high < b.low) return a;
  if (finite && b.low == b.high && divide(a.low, b.low) == divide(a.high, b.low))
    return {floor_remainder(a.low, b.low), floor_remainder(a.high, b.low)};
  Bounds result{0, b.high == kPlus ? kPlus : b.high - 1};
  if (a.low >= 0) result.high = std::min(result.high, a.high);
  return result;
}

Bounds bounds(const Atom& atom, const std::function<Bounds(Symbol)>& of_symbol) {
  if (atom.kind == Atom::Kind::kSymbol) return of_symbol(atom.symbol);
  const Bounds a = bounds(atom.a, of_symbol), b = bounds(atom.b, of_symbol);
  switch (atom.kind) {
    case Atom::Kind::kFloorDiv:
      return floor_div(a, b);
    case Atom::Kind::kMod:
      return mod(a, b);
    case Atom::Kind::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Atom::Kind::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Atom::Kind::kSymbol:
      break;
  }
  TD_CHECK(false, "an atom of no kind");
}

// What an atom other than a symbol is, its arguments decided.
SymExpr decide(const Atom& atom, const std::function<Bounds(Symbol)>& of_symbol) {
  const SymExpr x = aten_bridge::decide(atom.a, of_symbol);
  const SymExpr y = aten_bridge::decide(atom.b, of_symbol);
  const Bounds a = bounds(x, of_symbol), b = bounds(y, of_symbol);
  if (atom.kind == Atom::Kind::kMin || atom.kind == Atom::Kind::kMax) {
    const bool is_min = atom.kind == Atom::Kind::kMin;
    if (a.high <= b.low) return is_min ? x : y;
    if (b.high <= a.low) return is_min ? y : x;
  } else if (b.low == b.high && !is_infinite(a.low) && !is_infinite(a.high)) {
    const int64_t quotient = divide(a.low, b.low);
    if (quotient == divide(a.high, b.low))
      return atom.kind == Atom::Kind::kFloorDiv ? SymExpr(quotient) : x - y * quotient;
  }
  return apply(atom.kind, x, y);
}

}  // namespace

SymExpr decide(const SymExpr& e, const std::function<Bounds(Symbol)>& of_symbol) {
  const auto is_symbol = [](const auto& atom) { return atom->kind == Atom::Kind::kSymbol; };
  const auto is_decided = [&](const Term& t) {
    return std::all_of(t.factors.begin(), t.factors.end(), is_symbol);
  };
  const std::vector<Term>& terms = terms_of(e);
  if (std::all_of(terms.begin(), terms.end(), is_decided)) return e;
  SymExpr sum = constant_of(e);
  for (const Term& t : terms) {
    if (is_decided(t)) {
      sum += make_sum({t}, 0);
      continue;
    }
    SymExpr product = t.coefficient;
    for (const auto& atom : t.factors)
      product =
          product * (is_symbol(atom) ? SymExpr::symbol(atom->symbol) : decide(*atom, of_symbol));
    sum += product;
  }
  return sum;
}

Bounds bounds(const SymExpr& e, const std::function<Bounds(Symbol)>& of_symbol) {
  Bounds sum{constant_of(e), constant_of(e)};
  for (const Term& t : terms_of(e)) {
    Bounds product{t.coefficient, t.coefficient};
    for (const auto& atom : t.factors) product = multiply(product, bounds(*atom, of_symbol));
    sum = add(sum, product);
  }
  return sum;
}

bool fits_int32(const Bounds& b) {
  return b.low >= std::numeric_limits<int32_t>::min() &&
         b.high <= std::numeric_limits<int32_t>::max();
}

}  // namespace aten_bridge
