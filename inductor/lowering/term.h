// Scalar code written as formulas.
//   Term gelu = 0.5 * x * (1.0 + erf(x * kSqrtHalf));
//   Term relu = select(x > 0.0, x, zero(x));
// A number takes the dtype of the term it meets. Every operator of scalar_ops.def is a function.
// A term without an expression means "not defined on these dtypes"; whatever is made of it is one
// too.
#pragma once

#include <initializer_list>
#include <span>

#include "inductor/ir/scalar_table.h"

namespace inductor {

struct Term {
  ExprPool* pool = nullptr;
  Expr expr{};
  explicit operator bool() const { return static_cast<bool>(expr); }
  DType dtype() const { return expr.dtype(); }
};

// A number as a literal of the dtype of `like`.
Term number(const Term& like, double value);
Term cast(DType dtype, const Term& t);
// a != 0, as ATen converts to bool.
Term truth(const Term& t);
Term apply(ScalarOp op, std::span<const Term> args);
inline Term apply(ScalarOp op, std::initializer_list<Term> args) {
  return inductor::apply(op, std::span(args.begin(), args.size()));
}

#define SCALAR_OP(name, arity, ...)                                      \
  template <class... Terms>                                              \
  Term name(const Term& first, const Terms&... rest) {                   \
    static_assert(1 + sizeof...(rest) == arity, #name " takes " #arity); \
    return apply(ScalarOp::name, {first, rest...});                      \
  }
#include "inductor/ir/scalar_ops.def"
#undef SCALAR_OP

#define TERM_OPERATOR(symbol, name)                                                      \
  inline Term operator symbol(const Term& a, const Term& b) { return name(a, b); }       \
  inline Term operator symbol(const Term& a, double b) { return name(a, number(a, b)); } \
  inline Term operator symbol(double a, const Term& b) { return name(number(b, a), b); }
TERM_OPERATOR(+, add)
TERM_OPERATOR(-, sub)
TERM_OPERATOR(*, mul)
TERM_OPERATOR(/, div)
TERM_OPERATOR(==, eq)
TERM_OPERATOR(!=, ne)
TERM_OPERATOR(<, lt)
TERM_OPERATOR(<=, le)
TERM_OPERATOR(>, gt)
TERM_OPERATOR(>=, ge)
#undef TERM_OPERATOR
inline Term operator-(const Term& a) { return neg(a); }

// a * b + c as the compilers of ATen's kernels contract it: floating values are rounded once.
Term multiply_add(const Term& a, const Term& b, const Term& c);

}  // namespace inductor
