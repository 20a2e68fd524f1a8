// Scalar code: what one element of a loop computes. One immutable, interned node type.
//   ExprPool pool;
//   Expr x = pool.load(0, i0, DType::kFloat32);
//   Expr y = pool.apply(ScalarOp::mul, {x, pool.constant(DType::kFloat32, 0.5)});
//   y == pool.apply(ScalarOp::mul, {x, pool.constant(DType::kFloat32, 0.5)});   // the same node
//
// Law
//  - Arithmetic is IEEE in the node's dtype: no reassociation, no contraction, NaN kept; integers
//  wrap.
//  - Arguments of an operator have one dtype (select's condition aside, which is bool). float16 and
//    bfloat16 occur in loads, casts and stores only.
//  - A load's index is exact integers, in elements, and inside the buffer wherever the node is
//  evaluated.
//    select does not protect a load in the branch not taken: clamp its index.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/base/dtype.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/symbolic/expr.h"

namespace inductor {

using aten_bridge::DType;
using aten_bridge::HashMap;
using aten_bridge::HashSet;
using aten_bridge::Symbol;
using aten_bridge::SymExpr;

enum class ScalarOp : uint8_t {
  constant,  // a literal
  load,      // buffer[index]; args are the values (int64) of the symbols t0, t1, ... in index
  index,     // the value of a SymExpr over loop variables and sizes, as int64
  cast,      // args[0] converted as C++ and ATen convert
#define SCALAR_OP(name, ...) name,
#include "inductor/ir/scalar_ops.def"
#undef SCALAR_OP
};

struct ExprNode;

class Expr {  // a handle; 8 bytes; copy freely; lives as long as its pool
 public:
  Expr() = default;
  ScalarOp op() const;
  DType dtype() const;
  std::span<const Expr> args() const;
  // The loads from here down, each once, in the order of a depth-first walk.
  std::span<const Expr> loads() const;
  int buffer() const;            // load
  const SymExpr& index() const;  // load, index
  double floating() const;       // constant of floating dtype
  int64_t integer() const;       // constant of integer or bool dtype
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(Expr, Expr) = default;  // same node
  const ExprNode* node() const { return node_; }

 private:
  explicit Expr(const ExprNode* node) : node_(node) {}
  const ExprNode* node_ = nullptr;
  friend class ExprPool;
};

class ExprPool {  // owns nodes; one a LoopProgram; one thread at a time uses it and them
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(ExprPool&&) noexcept;
  ExprPool& operator=(ExprPool&&) noexcept;
  Expr constant(DType dtype, double value);  // floating
  Expr integer(DType dtype, int64_t value);  // integers and bool
  Expr load(int buffer, SymExpr index, DType dtype, std::vector<Expr> symbol_values = {});
  Expr index(SymExpr value);
  Expr cast(DType dtype, Expr value);  // the value itself when it has that dtype already
  Expr apply(ScalarOp op, std::vector<Expr> args);  // checked against the table

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace inductor
