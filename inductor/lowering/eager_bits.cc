#include "inductor/lowering/eager_bits.h"

#include <span>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/visit.h"

namespace inductor {

using aten_bridge::Device;
using aten_bridge::str_cat;
using aten_bridge::Verdict;

namespace {

struct FunctionRow {
  ScalarOp op;
  RoundsOtherwise otherwise;
};

// Scalar operators without a row are rounded once, as IEEE says, or not at all. On a CPU eager's
// float32 and float64 are MKL's, some of Sleef's, and by place; of half types one result of each
// operand was compared.
constexpr FunctionRow kFunctions[] = {
    {ScalarOp::floor_div, {.cpu = "bhfd", .cuda = "hf"}},
    {ScalarOp::remainder, {.cpu = "bhfd"}},
    {ScalarOp::fmod, {.cpu = "bhfd"}},
    {ScalarOp::sqrt, {.cpu = "fd"}},  // MKL's is not rounded as IEEE says
    {ScalarOp::rsqrt, {.cpu = "bh"}},
    {ScalarOp::exp, {.cpu = "fd"}},
    {ScalarOp::exp2, {.cpu = "fd"}},
    {ScalarOp::expm1, {.cpu = "fd"}},
    {ScalarOp::log, {.cpu = "fd"}},
    {ScalarOp::log2, {.cpu = "fd"}},
    {ScalarOp::log10, {.cpu = "fd"}},
    {ScalarOp::log1p, {.cpu = "fd"}},
    {ScalarOp::pow, {.cpu = "bhfd", .cuda = "bhd"}},
    {ScalarOp::hypot, {.cpu = "bhfd"}},
    {ScalarOp::nextafter, {.cpu = "bh", .cuda = "bh"}},
    {ScalarOp::sin, {.cpu = "hfd"}},
    {ScalarOp::cos, {.cpu = "fd"}},
    {ScalarOp::tan, {.cpu = "fd"}},
    {ScalarOp::asin, {.cpu = "fd"}},
    {ScalarOp::acos, {.cpu = "fd"}},
    {ScalarOp::atan, {.cpu = "fd"}},
    {ScalarOp::atan2, {.cpu = "bhfd"}},
    {ScalarOp::sinh, {.cpu = "bhfd"}},
    {ScalarOp::cosh, {.cpu = "bhfd"}},
    {ScalarOp::tanh, {.cpu = "fd", .cuda = "f"}},
    {ScalarOp::asinh, {.cpu = "bhfd"}},
    {ScalarOp::acosh, {.cpu = "bhfd"}},
    {ScalarOp::atanh, {.cpu = "fd"}},
    {ScalarOp::erf, {.cpu = "bhfd", .cuda = "f"}},
    {ScalarOp::erfc, {.cpu = "fd"}},
    {ScalarOp::erfinv, {.cpu = "fd"}},
    {ScalarOp::lgamma, {.cpu = "fd"}},
    {ScalarOp::digamma, {.cuda = "bhfd"}},
};

// Series whose sums compilers of ATen contract as they like.
bool is_series(ScalarOp op) { return op >= ScalarOp::trigamma && op <= ScalarOp::legendre; }

RoundsOtherwise otherwise(ScalarOp op) {
  if (is_series(op)) return {.cpu = "bhfd", .cuda = "bhfd"};
  for (const FunctionRow& row : kFunctions)
    if (row.op == op) return row.otherwise;
  return {};
}

char letter(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return 'b';
    case DType::kFloat16:
      return 'h';
    case DType::kFloat32:
      return 'f';
    case DType::kFloat64:
      return 'd';
    default:
      return '-';
  }
}

}  // namespace

bool RoundsOtherwise::on(DType dtype, Device::Kind device) const {
  const std::string_view letters = device == Device::Kind::kCuda ? cuda : cpu;
  return letters.find(letter(dtype)) != std::string_view::npos;
}

Verdict has_eagers_bits(Expr value, DType dtype, Device::Kind device) {
  Verdict verdict = Verdict::yes();
  for_each_node({&value, 1}, [&](Expr e) {
    if (is_in_table(e.op()) && otherwise(e.op()).on(dtype, device))
      verdict = Verdict::no(str_cat("eager rounds ", row(e.op()).name, " otherwise"));
  });
  return verdict;
}

}  // namespace inductor
