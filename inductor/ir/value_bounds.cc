#include "inductor/ir/value_bounds.h"

#include <algorithm>

namespace inductor {
namespace {

const Bounds kUnknown;

Bounds of_symbol(Symbol s, std::span<const Expr> symbol_values, Loops loops) {
  if (s.kind == 's') return {0, kUnknown.high};
  if (s.kind == 't' && s.index < static_cast<int>(symbol_values.size()))
    return bounds_of(symbol_values[s.index], loops);
  for (const Loop* loop : loops) {
    if (loop->var != s) continue;
    const Bounds extent = bounds_of(loop->extent, {}, loops);
    return {0,
            extent.high == kUnknown.high ? kUnknown.high : std::max<int64_t>(0, extent.high - 1)};
  }
  return kUnknown;
}

Bounds of_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kUInt8:
      return {0, 255};
    case DType::kInt8:
      return {-128, 127};
    case DType::kInt16:
      return {-32768, 32767};
    case DType::kInt32:
      return {-2147483647 - 1, 2147483647};
    default:
      return kUnknown;
  }
}

}  // namespace

Bounds bounds_of(const SymExpr& index, std::span<const Expr> symbol_values, Loops loops) {
  return aten_bridge::bounds(index, [&](Symbol s) { return of_symbol(s, symbol_values, loops); });
}

SymExpr decide(const SymExpr& index, std::span<const Expr> symbol_values, Loops loops) {
  return aten_bridge::decide(index, [&](Symbol s) { return of_symbol(s, symbol_values, loops); });
}

Bounds bounds_of(Expr e, Loops loops) {
  const auto arg = [&](int i) { return bounds_of(e.args()[i], loops); };
  switch (e.op()) {
    case ScalarOp::constant:
      return {e.integer(), e.integer()};
    case ScalarOp::index:
      return bounds_of(e.index(), {}, loops);
    case ScalarOp::cast: {
      if (!is_integral(e.args()[0].dtype())) return of_dtype(e.dtype());
      const Bounds all = of_dtype(e.dtype()), value = arg(0);
      return value.low >= all.low && value.high <= all.high ? value : all;
    }
    case ScalarOp::minimum: {
      const Bounds a = arg(0), b = arg(1);
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    case ScalarOp::maximum: {
      const Bounds a = arg(0), b = arg(1);
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    case ScalarOp::select: {
      const Bounds a = arg(1), b = arg(2);
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    default:
      return of_dtype(e.dtype());
  }
}

std::optional<int64_t> storage_size(const TensorType& type) {
  int64_t last = 0;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (!type.sizes[d].is_constant() || !type.strides[d].is_constant()) return std::nullopt;
    if (type.sizes[d].as_constant() == 0) return 0;
    last += (type.sizes[d].as_constant() - 1) * type.strides[d].as_constant();
  }
  return last + 1;
}

}  // namespace inductor
