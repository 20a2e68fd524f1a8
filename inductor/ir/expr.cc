#include "inductor/ir/expr.h"

#include <bit>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

#include "aten_bridge/base/check.h"
#include "inductor/ir/scalar_table.h"

namespace inductor {

struct ExprNode {
  ScalarOp op;
  DType dtype;
  int buffer = -1;
  uint64_t literal = 0;  // a constant's bits: of the double, or of the int64
  SymExpr index{};
  std::vector<Expr> args{};

  friend bool operator==(const ExprNode& a, const ExprNode& b) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ExprNode& n) {
    h = H::combine(std::move(h), n.op, n.dtype, n.buffer, n.literal, n.index);
    for (Expr arg : n.args) h = H::combine(std::move(h), arg.node());
    return h;
  }
};

ScalarOp Expr::op() const { return node_->op; }
DType Expr::dtype() const { return node_->dtype; }
std::span<const Expr> Expr::args() const { return node_->args; }

int Expr::buffer() const {
  TD_CHECK(op() == ScalarOp::load, "not a load");
  return node_->buffer;
}
const SymExpr& Expr::index() const {
  TD_CHECK(op() == ScalarOp::load || op() == ScalarOp::index, "has no index");
  return node_->index;
}
double Expr::floating() const {
  TD_CHECK(op() == ScalarOp::constant && is_floating(dtype()), "not a floating constant");
  return std::bit_cast<double>(node_->literal);
}
int64_t Expr::integer() const {
  TD_CHECK(op() == ScalarOp::constant && is_integral(dtype()), "not an integer constant");
  return static_cast<int64_t>(node_->literal);
}

namespace {

struct NodeHash {
  using is_transparent = void;
  size_t operator()(const ExprNode* n) const { return absl::HashOf(*n); }
  size_t operator()(const ExprNode& n) const { return absl::HashOf(n); }
};
struct NodeEqual {
  using is_transparent = void;
  bool operator()(const ExprNode* a, const ExprNode* b) const { return *a == *b; }
  bool operator()(const ExprNode* a, const ExprNode& b) const { return *a == b; }
};

}  // namespace

struct ExprPool::Table {
  std::deque<ExprNode> nodes;  // addresses stay
  absl::flat_hash_set<const ExprNode*, NodeHash, NodeEqual> index;

  const ExprNode* intern(ExprNode node) {
    return *index.lazy_emplace(node, [&](const auto& make) {
      nodes.push_back(std::move(node));
      make(&nodes.back());
    });
  }
};

ExprPool::ExprPool() : table_(std::make_unique<Table>()) {}
ExprPool::~ExprPool() = default;
ExprPool::ExprPool(ExprPool&&) noexcept = default;
ExprPool& ExprPool::operator=(ExprPool&&) noexcept = default;

Expr ExprPool::constant(DType dtype, double value) {
  TD_CHECK(is_floating(dtype), "a floating literal of dtype ", to_string(dtype));
  const double rounded = ScalarValue::of(dtype, value).floating;
  return Expr(table_->intern(
      {.op = ScalarOp::constant, .dtype = dtype, .literal = std::bit_cast<uint64_t>(rounded)}));
}

Expr ExprPool::integer(DType dtype, int64_t value) {
  TD_CHECK(is_integral(dtype), "an integer literal of dtype ", to_string(dtype));
  const int64_t wrapped = ScalarValue::of_integer(dtype, value).integer;
  return Expr(table_->intern(
      {.op = ScalarOp::constant, .dtype = dtype, .literal = static_cast<uint64_t>(wrapped)}));
}

Expr ExprPool::load(int buffer, SymExpr index, DType dtype, std::vector<Expr> symbol_values) {
  for (Expr value : symbol_values)
    TD_CHECK(value.dtype() == DType::kInt64, "the value of a symbol is int64");
  return Expr(table_->intern({.op = ScalarOp::load,
                              .dtype = dtype,
                              .buffer = buffer,
                              .index = std::move(index),
                              .args = std::move(symbol_values)}));
}

Expr ExprPool::index(SymExpr value) {
  if (value.is_constant()) return integer(DType::kInt64, value.as_constant());
  return Expr(
      table_->intern({.op = ScalarOp::index, .dtype = DType::kInt64, .index = std::move(value)}));
}

Expr ExprPool::cast(DType dtype, Expr value) {
  if (value.dtype() == dtype) return value;
  return Expr(table_->intern({.op = ScalarOp::cast, .dtype = dtype, .args = {value}}));
}

Expr ExprPool::apply(ScalarOp op, std::vector<Expr> args) {
  const ScalarOpRow& r = row(op);
  TD_CHECK(static_cast<int>(args.size()) == r.arity, r.name, " takes ", r.arity, " arguments, not ",
           args.size());
  const DType dtype = args.back().dtype();
  TD_CHECK(is_defined_on(r, dtype), r.name, " is not defined on ", to_string(dtype));
  for (size_t i = 0; i < args.size(); ++i) {
    const DType wanted = (op == ScalarOp::select && i == 0) ? DType::kBool : dtype;
    TD_CHECK(args[i].dtype() == wanted, r.name, ": argument ", i, " is ",
             to_string(args[i].dtype()), ", not ", to_string(wanted));
  }
  const DType result = r.result == ScalarResult::kBool ? DType::kBool : dtype;
  return Expr(table_->intern({.op = op, .dtype = result, .args = std::move(args)}));
}

}  // namespace inductor
