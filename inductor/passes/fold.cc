#include "inductor/passes/fold.h"

#include <algorithm>
#include <cmath>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/scalar_table.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/fold_rules.h"
#include "inductor/passes/leaves.h"

namespace inductor {
namespace {

bool is_constant(Expr e) { return e.op() == ScalarOp::constant; }

ScalarValue value_of(Expr e) {
  return is_floating(e.dtype()) ? ScalarValue::of(e.dtype(), e.floating())
                                : ScalarValue::of_integer(e.dtype(), e.integer());
}

Expr literal(ExprPool& pool, const ScalarValue& v) {
  return is_floating(v.dtype) ? pool.constant(v.dtype, v.floating)
                              : pool.integer(v.dtype, v.integer);
}

Expr compute(ExprPool& pool, Expr e) {
  if (!is_in_table(e.op()) || !std::all_of(e.args().begin(), e.args().end(), is_constant))
    return {};
  std::vector<ScalarValue> args;
  for (Expr arg : e.args()) args.push_back(value_of(arg));
  return literal(pool, evaluate(e.op(), args));
}

// a op b == b turned(op) a
std::optional<ScalarOp> turned(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::mul:
    case ScalarOp::maximum:
    case ScalarOp::minimum:
    case ScalarOp::eq:
    case ScalarOp::ne:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
      return op;
    case ScalarOp::lt:
      return ScalarOp::gt;
    case ScalarOp::gt:
      return ScalarOp::lt;
    case ScalarOp::le:
      return ScalarOp::ge;
    case ScalarOp::ge:
      return ScalarOp::le;
    default:
      return std::nullopt;
  }
}

Expr constant_to_the_right(ExprPool& pool, Expr e) {
  const auto op = turned(e.op());
  if (!op || !is_constant(e.args()[0]) || is_constant(e.args()[1])) return {};
  return pool.apply(*op, {e.args()[1], e.args()[0]});
}

// x / 2^k == x * 2^-k, exactly, where 2^-k is a normal number.
Expr division_by_power_of_two(ExprPool& pool, Expr e) {
  if (e.op() != ScalarOp::div || !is_constant(e.args()[1])) return {};
  const double divisor = e.args()[1].floating();
  int exponent;
  if (std::fabs(std::frexp(divisor, &exponent)) != 0.5 || std::abs(exponent) > 100) return {};
  return pool.apply(ScalarOp::mul, {e.args()[0], pool.constant(e.dtype(), 1 / divisor)});
}

// cast<T>(cast<U>(x)) where U holds every x: as if straight to T.
Expr fold_cast(ExprPool& pool, Expr e) {
  if (e.op() != ScalarOp::cast) return {};
  const Expr arg = e.args()[0];
  if (is_constant(arg)) {
    if (compute_dtype(e.dtype()) != e.dtype()) return {};  // literals are of arithmetic's dtypes
    const auto converted = convert(value_of(arg), e.dtype());
    return converted ? literal(pool, *converted) : Expr();
  }
  if (arg.op() != ScalarOp::cast || !holds_all(arg.dtype(), arg.args()[0].dtype())) return {};
  return pool.cast(e.dtype(), arg.args()[0]);
}

bool is_comparison(ScalarOp op) { return is_in_table(op) && row(op).result == ScalarResult::kBool; }

// Of integers, where their intervals leave no choice.
Expr decide_by_bounds(ExprPool& pool, Expr e, Loops loops) {
  const bool is_extremum = e.op() == ScalarOp::maximum || e.op() == ScalarOp::minimum;
  if (!is_extremum && !is_comparison(e.op())) return {};
  if (e.args()[0].dtype() != DType::kInt64) return {};
  const Bounds a = bounds_of(e.args()[0], loops), b = bounds_of(e.args()[1], loops);
  const bool below = a.high < b.low, not_above = a.high <= b.low;
  const bool above = a.low > b.high, not_below = a.low >= b.high;
  const auto truth = [&](bool v) { return pool.integer(DType::kBool, v); };
  switch (e.op()) {
    case ScalarOp::maximum:
      return not_above ? e.args()[1] : not_below ? e.args()[0] : Expr();
    case ScalarOp::minimum:
      return not_above ? e.args()[0] : not_below ? e.args()[1] : Expr();
    case ScalarOp::lt:
      return below ? truth(true) : not_below ? truth(false) : Expr();
    case ScalarOp::le:
      return not_above ? truth(true) : above ? truth(false) : Expr();
    case ScalarOp::gt:
      return above ? truth(true) : not_above ? truth(false) : Expr();
    case ScalarOp::ge:
      return not_below ? truth(true) : below ? truth(false) : Expr();
    case ScalarOp::eq:
      return below || above ? truth(false) : Expr();
    case ScalarOp::ne:
      return below || above ? truth(true) : Expr();
    default:
      return {};
  }
}

// A symbol whose value is an index or literal is that index.
Expr known_symbols(ExprPool& pool, Expr e) {
  if (e.op() != ScalarOp::load || e.args().empty()) return {};
  SymbolMap known;
  std::vector<Expr> others;
  for (size_t n = 0; n < e.args().size(); ++n) {
    const Symbol symbol{'t', static_cast<int>(n)};
    const Expr value = e.args()[n];
    if (value.op() == ScalarOp::index) {
      known[symbol] = value.index();
    } else if (is_constant(value)) {
      known[symbol] = value.integer();
    } else {
      known[symbol] = SymExpr::symbol({'t', static_cast<int>(others.size())});
      others.push_back(value);
    }
  }
  if (others.size() == e.args().size()) return {};
  return pool.load(e.buffer(), e.index().substitute(known), e.dtype(), std::move(others));
}

// min, max, floor_div and mod in an index, where intervals leave no choice.
Expr decide_index(ExprPool& pool, Expr e, Loops loops) {
  if (e.op() != ScalarOp::load && e.op() != ScalarOp::index) return {};
  const SymExpr decided = decide(e.index(), e.args(), loops);
  if (decided == e.index()) return {};
  return e.op() == ScalarOp::index
             ? pool.index(decided)
             : pool.load(e.buffer(), decided, e.dtype(), {e.args().begin(), e.args().end()});
}

Expr fold_once(ExprPool& pool, Expr e, Loops loops) {
  if (Expr r = compute(pool, e)) return r;
  if (Expr r = fold_cast(pool, e)) return r;
  if (Expr r = constant_to_the_right(pool, e)) return r;
  if (Expr r = apply_rules(pool, e)) return r;
  if (Expr r = division_by_power_of_two(pool, e)) return r;
  if (Expr r = decide_by_bounds(pool, e, loops)) return r;
  if (Expr r = known_symbols(pool, e)) return r;
  return decide_index(pool, e, loops);
}

}  // namespace

bool holds_all(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  if (to == DType::kBool || is_complex(to) || is_complex(from)) return false;
  if (is_floating(from))
    return to == DType::kFloat64 || (to == DType::kFloat32 && size_in_bytes(from) == 2);
  const int64_t bits = 8 * size_in_bytes(from);
  if (to == DType::kFloat64) return bits <= 32;
  if (to == DType::kFloat32) return bits <= 16;
  if (is_floating(to) || to == DType::kUInt8) return false;
  return size_in_bytes(to) > size_in_bytes(from);
}

Expr fold(ExprPool& pool, Expr root, Loops loops) {
  // A step may make a term whose arguments can be folded again: repeat until nothing changes.
  for (;;) {
    const Expr folded = rewrite(pool, root, [&](Expr e) -> Expr {
      Expr now = e;
      while (Expr next = fold_once(pool, now, loops)) now = next;
      return now;
    });
    if (folded == root) return root;
    root = folded;
  }
}

void fold(LoopProgram& program) {
  for_each_nest(program, [&](Stmt& leaf, Loops loops) {
    rewrite_leaf(
        leaf, [&](Expr e) { return fold(program.pool, e, loops); },
        [](const SymExpr& index) { return index; });
  });
}

}  // namespace inductor
