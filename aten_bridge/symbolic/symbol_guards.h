// Sizes that may be others from call to call, and what must hold of them.
//   SymbolGuards guards;                        // f(x, y): x is [s0, 64], y is [2*s0], 2*s0 > 7
//   guards.inputs = {{{s0, 64}, {64, 1}}, {{2 * s0}, {1}}};
//   guards.conditions = {{{2 * s0, Operator::kGreater, 7}}};
//   guards.find_symbols();
//   guards.check(geometry_of)                 // geometry_of(1).sizes: those of y
//
// Each symbol is, alone, some size; it is 2 or more, since a size of 0 or 1 means another program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

#include "aten_bridge/symbolic/expr.h"

namespace aten_bridge {

class SymbolGuards {
 public:
  struct Geometry {
    std::vector<SymExpr> sizes, strides;
  };
  struct Given {
    std::span<const int64_t> sizes, strides;
  };
  using GeometryOf = absl::FunctionRef<Given(size_t input)>;

  enum class Operator : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual
  };
  struct Relation {
    SymExpr left;
    Operator op;
    SymExpr right;
  };

  std::vector<std::optional<Geometry>> inputs;  // none: its sizes are fixed, and others' to check
  using Condition = std::vector<Relation>;      // of which one must hold
  std::vector<Condition> conditions;

  // To be called once. False: a symbol is no size of any input.
  bool find_symbols();

  bool check(GeometryOf geometry_of) const noexcept;
  std::string explain_failure(GeometryOf geometry_of,
                              const std::vector<std::string>& names) const;  // "": none
  std::vector<std::string> describe(const std::vector<std::string>& names) const;

 private:
  struct Place {
    int input = -1, dimension = -1;
  };
  using Values = std::vector<int64_t>;

  // The symbols' values; none where one cannot be.
  std::optional<Values> values(GeometryOf geometry_of) const;
  // What does not hold; "": nothing.
  std::string failure(GeometryOf geometry_of, const std::vector<std::string>* names) const;

  std::vector<Place> places_;  // by symbol
};

// "<=" and its kin; none: no operator.
std::optional<SymbolGuards::Operator> relation_operator(std::string_view text);

}  // namespace aten_bridge
