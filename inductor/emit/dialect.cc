#include "inductor/emit/dialect.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/scalar_table.h"

namespace inductor {

using aten_bridge::str_append;
using aten_bridge::str_cat;

namespace {

constexpr TypeName kCppTypes[] = {
    {DType::kUInt8, "uint8_t"}, {DType::kInt8, "int8_t"},   {DType::kInt16, "int16_t"},
    {DType::kInt32, "int32_t"}, {DType::kInt64, "int64_t"}, {DType::kFloat16, "f16"},
    {DType::kBFloat16, "bf16"}, {DType::kFloat32, "float"}, {DType::kFloat64, "double"},
    {DType::kBool, "bool"},
};

// NVRTC has no -fwrapv and takes signed overflow for impossible. (What is narrower is computed as
// int, where it cannot overflow.)
constexpr Spelling kCudaSpellings[] = {
    {ScalarOp::add, DType::kInt32, "td_add($0, $1)"},
    {ScalarOp::add, DType::kInt64, "td_add($0, $1)"},
    {ScalarOp::sub, DType::kInt32, "td_sub($0, $1)"},
    {ScalarOp::sub, DType::kInt64, "td_sub($0, $1)"},
    {ScalarOp::mul, DType::kInt32, "td_mul($0, $1)"},
    {ScalarOp::mul, DType::kInt64, "td_mul($0, $1)"},
    {ScalarOp::neg, DType::kInt32, "td_neg($0)"},
    {ScalarOp::neg, DType::kInt64, "td_neg($0)"},
};

// C++ computes on these as int; each value is brought back to its own type.
bool is_promoted(DType dtype) {
  return aten_bridge::is_integral(dtype) && aten_bridge::size_in_bytes(dtype) < 4;
}

bool reads_well_in_decimal(double value) {
  return std::fabs(value) < 1e6 && value * 1024 == std::floor(value * 1024) &&
         !(value == 0 && std::signbit(value));
}

std::string decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string s = text;
  if (s.find('.') == std::string::npos) s += ".0";
  return s;
}

std::string hexadecimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

}  // namespace

std::string Dialect::type(DType dtype, int width) const {
  if (width > 1) return str_cat(aten_bridge::to_string(dtype), "x", width);
  for (const TypeName& row : types_)
    if (row.dtype == dtype) return std::string(row.name);
  TD_CHECK(false, "no type for ", aten_bridge::to_absl(aten_bridge::to_string(dtype)));
}

std::string Dialect::literal(DType dtype, double value) const {
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16)
    return cast(dtype, 1, literal(DType::kFloat32, value));
  const std::string_view suffix = dtype == DType::kFloat32 ? "f" : "";
  if (std::isnan(value)) return str_cat("__builtin_nan", suffix, "(\"\")");
  if (std::isinf(value))
    return str_cat(value < 0 ? "(-" : "", "__builtin_inf", suffix, "()", value < 0 ? ")" : "");
  const std::string text = reads_well_in_decimal(value) ? decimal(value) : hexadecimal(value);
  return std::signbit(value) ? str_cat("(", text, suffix, ")") : str_cat(text, suffix);
}

std::string Dialect::literal(DType dtype, int64_t value) const {
  if (dtype == DType::kBool) return value ? "true" : "false";
  // The least integers have no literal of their own.
  const bool least32 = dtype == DType::kInt32 && value == std::numeric_limits<int32_t>::min();
  const bool least64 = value == std::numeric_limits<int64_t>::min();
  const std::string text =
      least32 || least64 ? str_cat(value + 1, least64 ? "LL" : "", " - 1") : str_cat(value);
  if (dtype != DType::kInt32) return str_cat(type(dtype, 1), "(", text, ")");
  return value < 0 ? str_cat("(", text, ")") : text;
}

std::string Dialect::literal(Expr constant) const {
  return aten_bridge::is_floating(constant.dtype()) ? literal(constant.dtype(), constant.floating())
                                                    : literal(constant.dtype(), constant.integer());
}

std::string Dialect::apply(ScalarOp op, DType dtype, int width,
                           std::span<const std::string> args) const {
  const ScalarOpRow& facts = row(op);
  TD_CHECK(static_cast<int>(args.size()) == facts.arity, aten_bridge::to_absl(facts.name));
  std::string_view spelling = facts.spelling;
  for (const Spelling& s : differences_)
    if (s.op == op && s.dtype == dtype) spelling = s.text;
  std::string text;
  for (size_t i = 0; i < spelling.size(); ++i) {
    if (spelling[i] == '$')
      text += args[static_cast<size_t>(spelling[++i] - '0')];
    else
      text += spelling[i];
  }
  if (facts.result == ScalarResult::kBool) return width > 1 ? str_cat("td_bool", text) : text;
  if (width == 1 && is_promoted(dtype)) return str_cat(type(dtype, 1), "(", text, ")");
  return text;
}

std::string Dialect::cast(DType to, int width, std::string_view value) const {
  return str_cat("td_cast<", type(to, width), ">(", value, ")");
}

std::string Dialect::round(DType half, int width, std::string_view value) const {
  return str_cat("td_round_to<", type(half, width), ">(", value, ")");
}

std::string Dialect::apply_rounded(ScalarOp op, DType half, int width, std::string_view a,
                                   std::string_view b) const {
  return str_cat("td_", aten_bridge::to_absl(row(op).name), "_rounded<", type(half, width), ">(", a,
                 ", ", b, ")");
}

const Dialect& cpp_dialect() {
  static constexpr Dialect dialect(kCppTypes, {});
  return dialect;
}

const Dialect& cuda_dialect() {
  static constexpr Dialect dialect(kCppTypes, kCudaSpellings);
  return dialect;
}

}  // namespace inductor
