// Which expression an integer is, from its values at several points.
//   SizeFit fit({{8, 5}, {13, 9}, {22, 14}, {35, 31}});   // a row a point, the values of s0, s1
//   fit.expression({48, 78, 132, 210}) == SymExpr::symbol({'s', 0}) * 6;
//
// A value that no expression explains, or several that differ elsewhere, has none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

// One value a point.
using Samples = std::vector<int64_t>;

class SizeFit {
 public:
  // All rows have a value for each symbol 's' from 0; no symbol has one value at all points.
  explicit SizeFit(const std::vector<Samples>& points);

  size_t points() const { return points_; }
  size_t symbols() const { return symbols_; }
  // What is found is remembered: later values are sought among what is known, too. A quotient is
  // exact everywhere where it is so at as many points as chance does not explain.
  std::optional<SymExpr> expression(const Samples& values);

 private:
  struct Known {
    Samples values;
    SymExpr expr;
  };
  static Known product(const Known& a, const Known& b);
  void remember(Known known);
  std::optional<SymExpr> known(const Samples& values) const;
  std::optional<SymExpr> affine(const Samples& values) const;    // a * known + b
  std::optional<SymExpr> simple(const Samples& values) const;    // constant, known or affine
  std::optional<SymExpr> composed(const Samples& values) const;  // known * simple, known + simple
  std::optional<SymExpr> quotient(const Samples& values) const;  // floor_div(known + c, d)

  size_t points_ = 0, symbols_ = 0;
  std::vector<Known> known_;  // in order of discovery, symbols first
  HashMap<Samples, size_t> index_;
};

}  // namespace aten_bridge
