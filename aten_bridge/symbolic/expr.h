// Integer expressions over symbols: sizes, strides, offsets and indices in every IR.
//   SymExpr s0 = SymExpr::symbol({'s', 0});
//   SymExpr e = (s0 + 2) * 3;              // canonical: 3*s0 + 6
//   e == s0 * 3 + 6;                       // structural equality of canonical forms
//   SymExpr(4).constant() == 4;            // a static size is a constant
//
// Law
//  - Values are exact integers; nothing overflows (checked).
//  - An expression is kept canonical: a sum of integer multiples of products of atoms, where an
//    atom is a symbol, floor_div, mod, min or max of expressions. Equal polynomials are equal
//    objects.
//  - floor_div and mod round towards minus infinity; the divisor is positive.
//  - Immutable and shared; copying is cheap; a constant allocates nothing. Any thread may use one.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aten_bridge/base/hash_map.h"

namespace aten_bridge {

// 's': a size (s0), 'i': a loop variable (i0), 't': a value read at run time (t0, see loop.h).
struct Symbol {
  char kind;
  int32_t index;
  auto operator<=>(const Symbol&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Symbol& s) {
    return H::combine(std::move(h), s.kind, s.index);
  }
};

class SymExpr;
using SymbolMap = HashMap<Symbol, SymExpr>;

class SymExpr {
 public:
  SymExpr(int64_t value = 0) : value_(value) {}  // NOLINT: implicit on purpose
  static SymExpr symbol(Symbol s);

  std::optional<int64_t> constant() const;
  bool is_constant() const { return node_ == nullptr; }
  int64_t as_constant() const;              // checked
  std::optional<Symbol> as_symbol() const;  // exactly 1 * symbol

  friend SymExpr operator+(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator-(const SymExpr& a, const SymExpr& b);
  friend SymExpr operator*(const SymExpr& a, const SymExpr& b);
  friend bool operator==(const SymExpr& a, const SymExpr& b);
  SymExpr& operator+=(const SymExpr& b) { return *this = *this + b; }

  // All symbols, sorted, each once.
  std::vector<Symbol> symbols() const;
  bool mentions(Symbol s) const;
  // Replaces symbols all at once; those absent from the map stay.
  SymExpr substitute(const SymbolMap& map) const;
  // c such that *this == c * s + (terms without s); nullopt when s occurs otherwise (in a product
  // with another symbol, under floor_div, ...). 0 when s does not occur.
  std::optional<int64_t> coefficient(Symbol s) const;
  int64_t evaluate(const std::function<int64_t(Symbol)>& value_of) const;

  // "3*s0 + 6", "floor_div(i0, 4)"; constants first come last.
  std::string str() const;
  size_t hash() const;
  template <typename H>
  friend H AbslHashValue(H h, const SymExpr& e) {
    return H::combine(std::move(h), e.hash());
  }

  struct Node;  // node.h

 private:
  int64_t value_ = 0;                 // when node_ is null
  std::shared_ptr<const Node> node_;  // canonical, never a plain constant
  friend struct SymExprAccess;
};

SymExpr floor_div(const SymExpr& a, const SymExpr& b);
SymExpr mod(const SymExpr& a, const SymExpr& b);
SymExpr min(const SymExpr& a, const SymExpr& b);
SymExpr max(const SymExpr& a, const SymExpr& b);
SymExpr product(const std::vector<SymExpr>& factors);

// Reads what str() writes from the front of *text and advances it; nullopt on a syntax error.
std::optional<SymExpr> parse_sym_expr(std::string_view* text);

}  // namespace aten_bridge
