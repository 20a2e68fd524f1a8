// The facts of scalar_ops.def at run time, and scalar values computed by its reference column.
//   row(ScalarOp::exp).arity == 1;  parse_scalar_op("exp") == ScalarOp::exp
//   evaluate(ScalarOp::add, {ScalarValue::of(DType::kInt8, 127), ScalarValue::of(DType::kInt8, 1)})
//       == ScalarValue::of(DType::kInt8, -128)
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "inductor/ir/expr.h"

namespace inductor {

enum class ScalarResult : uint8_t { kSame, kBool };

struct ScalarOpRow {
  ScalarOp op;
  std::string_view name;
  int arity;
  ScalarResult result;
  std::string_view domain;
  int cost;
  std::string_view spelling;
};

std::span<const ScalarOpRow> scalar_ops();  // in the table's order
bool is_in_table(ScalarOp op);              // not constant, load, index, cast
const ScalarOpRow& row(ScalarOp op);        // checked: is_in_table
std::optional<ScalarOp> parse_scalar_op(std::string_view name);
bool is_defined_on(const ScalarOpRow& row, DType dtype);

// What arithmetic on a dtype is done in: float32 for float16 and bfloat16, else the dtype itself.
DType compute_dtype(DType dtype);

// One value of a dtype that arithmetic is done in. Floating values are held as double, float32's
// rounded to float32; integers and bool as int64, wrapped to their width.
struct ScalarValue {
  static ScalarValue of(DType dtype, double value);           // floating: rounds to the dtype
  static ScalarValue of_integer(DType dtype, int64_t value);  // integers and bool: wraps

  DType dtype = DType::kFloat32;
  double floating = 0;
  int64_t integer = 0;
};
bool same_bits(const ScalarValue& a, const ScalarValue& b);

// By the reference column; the arguments' dtypes are checked against the row.
ScalarValue evaluate(ScalarOp op, std::span<const ScalarValue> args);
// nullopt where C++ leaves the conversion undefined: a float outside of the integer's range.
std::optional<ScalarValue> convert(const ScalarValue& value, DType dtype);

}  // namespace inductor
