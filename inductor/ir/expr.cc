#include "inductor/ir/expr.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/hash/hash.h"

#include "aten_bridge/base/check.h"
#include "inductor/ir/node_table.h"
#include "inductor/ir/scalar_table.h"

namespace inductor {

struct ExprNode {
  size_t hash = 0;  // of the rest
  ScalarOp op;
  DType dtype;
  int buffer = -1;
  uint64_t literal = 0;  // a constant's bits: of the double, or of the int64
  SymExpr index{};
  std::vector<Expr> args{};
  mutable std::optional<std::vector<Expr>> loads{};  // once they were asked for

  friend bool operator==(const ExprNode& a, const ExprNode& b) {
    return a.hash == b.hash && a.op == b.op && a.dtype == b.dtype && a.buffer == b.buffer &&
           a.literal == b.literal && a.index == b.index && a.args == b.args;
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

void add_loads(Expr e, NodeTable<bool>& seen, std::vector<Expr>& loads) {
  if (seen.find(e)) return;
  seen.add(e, true);
  for (Expr arg : e.args()) add_loads(arg, seen, loads);
  if (e.op() == ScalarOp::load) loads.push_back(e);
}

size_t hash_of(const ExprNode& n) {
  size_t hash = absl::HashOf(n.op, n.dtype, n.buffer, n.literal, n.index);
  for (Expr arg : n.args) hash = absl::HashOf(hash, arg.node());
  return hash;
}

}  // namespace

std::span<const Expr> Expr::loads() const {
  if (!node_->loads) {
    NodeTable<bool> seen;
    std::vector<Expr> loads;
    add_loads(*this, seen, loads);
    node_->loads = std::move(loads);
  }
  return *node_->loads;
}

struct ExprPool::Table {
  std::deque<ExprNode> nodes;            // addresses stay
  std::vector<const ExprNode*> by_hash;  // each at its hash or behind it; at least half are null

  const ExprNode* intern(ExprNode node) {
    if (2 * nodes.size() >= by_hash.size()) grow();
    node.hash = hash_of(node);
    const ExprNode*& place = *find(by_hash, node);
    if (place == nullptr) place = &nodes.emplace_back(std::move(node));
    return place;
  }

 private:
  // Where the node or one equal to it is, or should be.
  static const ExprNode** find(std::vector<const ExprNode*>& by_hash, const ExprNode& node) {
    for (size_t i = node.hash;; ++i) {
      const ExprNode*& place = by_hash[i & (by_hash.size() - 1)];
      if (place == nullptr || *place == node) return &place;
    }
  }
  void grow() {
    std::vector<const ExprNode*> larger(std::max<size_t>(64, 2 * by_hash.size()));
    for (const ExprNode& node : nodes) *find(larger, node) = &node;
    by_hash = std::move(larger);
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
