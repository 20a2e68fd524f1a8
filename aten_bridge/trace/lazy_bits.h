// Operators that say by a bit of a tensor what its values are: conjugated, negated, all zero. A
// graph has no such bits: another operator computes the values in their place.
//   if (const LazyBit* lazy = find_lazy_bit("aten::_conj")) record(lazy->computes, ...);
#pragma once

#include <string_view>

namespace aten_bridge {

struct LazyBit {
  std::string_view op;
  std::string_view computes;  // with the same arguments
  bool is_view = false;       // shares its argument's memory
};

const LazyBit* find_lazy_bit(std::string_view op);

}  // namespace aten_bridge
