// How a language spells types, literals and scalar operators: the table's spellings and what
// differs from them.
//   cpp.type(DType::kFloat32, 1) == "float";  cpp.type(DType::kFloat32, 8) == "f32x8"
//   cpp.literal(DType::kFloat32, 0.1) == "0x1.99999ap-4f"
//   cpp.apply(ScalarOp::add, DType::kFloat32, 1, {"a", "b"}) == "(a + b)"
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inductor/ir/expr.h"

namespace inductor {

struct TypeName {
  DType dtype;
  std::string_view name;
};

struct Spelling {  // of one operator on one dtype, where it differs from scalar_ops.def
  ScalarOp op;
  DType dtype;
  std::string_view text;
};

class Dialect {
 public:
  constexpr Dialect(std::span<const TypeName> types, std::span<const Spelling> differences)
      : types_(types), differences_(differences) {}

  // A scalar's type, or that of a vector of `width` lanes.
  std::string type(DType dtype, int width) const;

  // Exact, and an expression that needs no parentheses.
  std::string literal(DType dtype, double value) const;   // floating
  std::string literal(DType dtype, int64_t value) const;  // integers and bool
  std::string literal(Expr constant) const;

  // `op` over arguments of `dtype` (select: of its branches), `width` lanes wide.
  std::string apply(ScalarOp op, DType dtype, int width, std::span<const std::string> args) const;
  std::string cast(DType to, int width, std::string_view value) const;
  // float32 rounded to a half type.
  std::string round(DType half, int width, std::string_view value) const;
  // `op`, one of add, sub and mul, over float32s that `half` has, rounded to it.
  std::string apply_rounded(ScalarOp op, DType half, int width, std::string_view a,
                            std::string_view b) const;

 private:
  std::span<const TypeName> types_;
  std::span<const Spelling> differences_;
};

// C++ and CUDA C++ over the preambles of this folder.
const Dialect& cpp_dialect();
const Dialect& cuda_dialect();

}  // namespace inductor
