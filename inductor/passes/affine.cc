#include "inductor/passes/affine.h"

#include <algorithm>

#include "aten_bridge/base/check.h"

namespace inductor {
namespace {

struct Stride {
  Symbol var;
  int64_t stride, extent;
};

// The writer's loops by falling stride, if they are a mixed-radix number: each stride is larger
// than all that the smaller ones reach together. Then an element has one writer, found digit by
// digit.
std::optional<std::vector<Stride>> mixed_radix(const Affine& written, Loops writer) {
  std::vector<Stride> digits;
  for (const Loop* loop : writer) {
    const auto extent = loop->extent.constant();
    const auto term = std::find_if(written.terms.begin(), written.terms.end(),
                                   [&](const auto& t) { return t.first == loop->var; });
    if (!extent || term == written.terms.end() || term->second <= 0) return std::nullopt;
    digits.push_back({loop->var, term->second, *extent});
  }
  if (written.terms.size() != digits.size() || !written.rest.is_constant()) return std::nullopt;
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Stride& a, const Stride& b) { return a.stride > b.stride; });
  int64_t reach = 0;
  for (size_t n = digits.size(); n-- > 0;) {
    if (digits[n].stride <= reach) return std::nullopt;
    reach += digits[n].stride * (digits[n].extent - 1);
  }
  return digits;
}

struct Division {
  SymExpr quotient, remainder;
};

// value == quotient * divisor + remainder, term by term.
Division divide(const SymExpr& value, int64_t divisor) {
  const Affine sum = affine(value);
  Division result{0, 0};
  for (const auto& [symbol, coefficient] : sum.terms) {
    if (coefficient % divisor == 0) {
      result.quotient += SymExpr(coefficient / divisor) * SymExpr::symbol(symbol);
    } else {
      result.remainder += SymExpr(coefficient) * SymExpr::symbol(symbol);
    }
  }
  const SymExpr quotient = floor_div(sum.rest, divisor);
  const SymExpr remainder = sum.rest - quotient * divisor;
  if (remainder.is_constant()) return {result.quotient + quotient, result.remainder + remainder};
  return {result.quotient, result.remainder + sum.rest};
}

// A loop of the reader that runs over several steps of `stride`.
std::optional<Cut> find_cut(const SymExpr& remainder, int64_t stride, Loops reader) {
  for (const auto& [symbol, coefficient] : affine(remainder).terms) {
    const auto loop = std::find_if(reader.begin(), reader.end(),
                                   [s = symbol](const Loop* l) { return l->var == s; });
    if (loop == reader.end() || coefficient <= 0 || stride % coefficient != 0) continue;
    const auto extent = (*loop)->extent.constant();
    const int64_t inner = stride / coefficient;
    if (extent && *extent > inner && *extent % inner == 0) return Cut{symbol, inner};
  }
  return std::nullopt;
}

}  // namespace

Affine affine(const SymExpr& index) {
  Affine sum{{}, index};
  for (Symbol s : index.symbols()) {
    const auto coefficient = index.coefficient(s);
    if (!coefficient || *coefficient == 0) continue;
    sum.terms.emplace_back(s, *coefficient);
    sum.rest = sum.rest - SymExpr(*coefficient) * SymExpr::symbol(s);
  }
  return sum;
}

Inversion invert(const SymExpr& written, Loops writer, const SymExpr& read,
                 std::span<const Expr> symbol_values, Loops reader) {
  const Affine target = affine(written);
  const auto digits = mixed_radix(target, writer);
  if (!digits) return {};
  SymbolMap values;
  SymExpr rest = read - target.rest;
  for (const Stride& digit : *digits) {
    const Division d = divide(rest, digit.stride);
    const Bounds remainder = bounds_of(d.remainder, symbol_values, reader);
    if (remainder.low < 0 || remainder.high >= digit.stride) {
      if (const auto cut = find_cut(d.remainder, digit.stride, reader)) return *cut;
      return {};
    }
    const Bounds value = bounds_of(d.quotient, symbol_values, reader);
    if (value.low < 0 || value.high >= digit.extent) return {};
    values[digit.var] = d.quotient;
    rest = d.remainder;
  }
  if (!(rest == SymExpr(0))) return {};
  return values;
}

void apply_cut(LoopProgram& program, const Cut& cut, FlatNest& nest) {
  const auto loop = std::find_if(nest.loops.begin(), nest.loops.end(),
                                 [&](const Loop& l) { return l.var == cut.var; });
  TD_CHECK(loop != nest.loops.end(), "a cut of no loop");
  Loop outer = *loop, inner = *loop;
  outer.var = {'i', program.next_var++};
  inner.var = {'i', program.next_var++};
  outer.extent = floor_div(loop->extent, cut.inner);
  inner.extent = cut.inner;
  const SymbolMap map = {
      {cut.var, SymExpr(cut.inner) * SymExpr::symbol(outer.var) + SymExpr::symbol(inner.var)}};
  rewrite_leaf(
      nest.leaf, [&](Expr e) { return substitute(program.pool, e, map); },
      [&](const SymExpr& index) { return index.substitute(map); });
  *loop = std::move(inner);
  nest.loops.insert(loop, std::move(outer));
}

}  // namespace inductor
