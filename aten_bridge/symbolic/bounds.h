// Interval arithmetic over SymExpr.
//   Bounds b = bounds(16 * i0 + i1, [](Symbol s) { return Bounds{0, s.index == 0 ? 7 : 15}; });
//   b == Bounds{0, 127}
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

struct Bounds {  // inclusive; the int64 limits mean "unbounded"
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool operator==(const Bounds&) const = default;
};

Bounds bounds(const SymExpr& e, const std::function<Bounds(Symbol)>& of_symbol);

// The same values, without a min, max, floor_div or mod that intervals decide:
//   decide(max(min(i0, 7), 0), ...) == i0;   decide(floor_div(i0, 8), ...) == 0   // i0 in [0, 7]
SymExpr decide(const SymExpr& e, const std::function<Bounds(Symbol)>& of_symbol);

// True when every value of an index in `b` fits int32.
bool fits_int32(const Bounds& b);

}  // namespace aten_bridge
