#include "inductor/passes/fold_rules.h"

#include <cmath>

#include "inductor/ir/scalar_table.h"

namespace inductor {
namespace {

// ---- Writing patterns ----

Pattern var(int i) { return {.op = {}, .variable = i}; }
Pattern lit(double v) { return {.op = {}, .variable = -1, .literal = v}; }
template <class... Args>
Pattern call(ScalarOp op, Args... args) {
  return {.op = op, .args = {std::move(args)...}};
}

const Pattern x = var(0), y = var(1), z = var(2), c = var(3);  // c: of bool

using enum ScalarOp;

// Constants stand on the right: fold turns commutative operators and comparisons around first.
const Rule kRules[] = {
    {call(add, x, lit(0)), x, "I"},  // -0.0 + 0 is +0.0
    {call(add, x, lit(-0.0)), x, "F"},
    {call(sub, x, lit(0)), x, "FI"},  // also of -0.0
    {call(mul, x, lit(1)), x, "FI"},
    {call(mul, x, lit(0)), lit(0), "I"},  // NaN * 0 is NaN
    {call(div, x, lit(1)), x, "F"},
    {call(trunc_div, x, lit(1)), x, "I"},
    {call(floor_div, x, lit(1)), x, "I"},
    {call(neg, call(neg, x)), x, "FI"},
    {call(abs, call(neg, x)), call(abs, x), "F"},  // uint8 wraps
    {call(abs, call(abs, x)), call(abs, x), "FI"},
    {call(maximum, x, x), x, "FIB"},
    {call(minimum, x, x), x, "FIB"},
    // min(max(x, y), y) == y unless x is NaN: integers only
    {call(minimum, call(maximum, x, y), y), y, "I"},
    {call(maximum, call(minimum, x, y), y), y, "I"},

    {call(bit_and, x, x), x, "IB"},
    {call(bit_or, x, x), x, "IB"},
    {call(bit_xor, x, x), lit(0), "IB"},
    {call(bit_not, call(bit_not, x)), x, "IB"},
    {call(bit_and, x, lit(0)), lit(0), "IB"},
    {call(bit_or, x, lit(0)), x, "IB"},
    {call(bit_xor, x, lit(0)), x, "IB"},
    {call(bit_and, x, lit(1)), x, "B"},
    {call(bit_or, x, lit(1)), lit(1), "B"},
    {call(bit_not, call(eq, x, y)), call(ne, x, y), "B"},  // NaN differs from all
    {call(bit_not, call(ne, x, y)), call(eq, x, y), "B"},

    {call(eq, x, x), lit(1), "IB"},  // NaN differs from itself
    {call(ne, x, x), lit(0), "IB"},
    {call(lt, x, x), lit(0), "FIB"},
    {call(gt, x, x), lit(0), "FIB"},
    {call(le, x, x), lit(1), "IB"},
    {call(ge, x, x), lit(1), "IB"},

    {call(select, c, x, x), x, "FIB"},
    {call(select, lit(1), x, y), x, "FIB"},
    {call(select, lit(0), x, y), y, "FIB"},
    {call(select, call(bit_not, c), x, y), call(select, c, y, x), "FIB"},
    {call(select, c, call(select, c, x, z), y), call(select, c, x, y), "FIB"},
    {call(select, c, x, call(select, c, z, y)), call(select, c, x, y), "FIB"},
};

// ---- Matching ----

bool is_literal(Expr e, double value) {
  if (e.op() != constant) return false;
  if (!is_floating(e.dtype())) return static_cast<double>(e.integer()) == value;
  return e.floating() == value && std::signbit(e.floating()) == std::signbit(value);
}

bool match(const Pattern& p, Expr e, std::vector<Expr>& bound) {
  if (p.variable >= 0) {
    Expr& held = bound[p.variable];
    if (!held) held = e;
    return held == e;
  }
  if (!p.op) return is_literal(e, p.literal);
  if (e.op() != *p.op) return false;
  for (size_t i = 0; i < p.args.size(); ++i)
    if (!match(p.args[i], e.args()[i], bound)) return false;
  return true;
}

bool in_domain(std::string_view domain, DType dtype) {
  const char kind = dtype == DType::kBool ? 'B' : is_floating(dtype) ? 'F' : 'I';
  return domain.find(kind) != std::string_view::npos;
}

constexpr int kVariables = 4;

}  // namespace

std::span<const Rule> fold_rules() { return kRules; }

Expr instantiate(ExprPool& pool, const Pattern& p, std::span<const Expr> variables, DType dtype) {
  if (p.variable >= 0) return variables[p.variable];
  if (!p.op) {
    if (is_floating(dtype)) return pool.constant(dtype, p.literal);
    return pool.integer(dtype, static_cast<int64_t>(p.literal));
  }
  std::vector<Expr> args;
  for (size_t i = 0; i < p.args.size(); ++i) {
    const bool is_condition = *p.op == ScalarOp::select && i == 0;
    args.push_back(instantiate(pool, p.args[i], variables, is_condition ? DType::kBool : dtype));
  }
  return pool.apply(*p.op, std::move(args));
}

Expr apply_rules(ExprPool& pool, Expr e) {
  if (!is_in_table(e.op())) return {};
  for (const Rule& rule : kRules) {
    if (rule.from.op != e.op() || !in_domain(rule.domain, e.args().back().dtype())) continue;
    std::vector<Expr> bound(kVariables);
    if (match(rule.from, e, bound)) return instantiate(pool, rule.to, bound, e.dtype());
  }
  return {};
}

}  // namespace inductor
