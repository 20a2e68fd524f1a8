#include "inductor/ir/follow.h"

#include <limits>

#include "inductor/ir/visit.h"

namespace inductor {
namespace {

bool is_load_of(Expr e, const Reduce& leader) {
  return e.op() == ScalarOp::load && e.buffer() == leader.buffer && e.args().empty() &&
         e.index() == leader.index;
}

// `op` of the leader's element and of what it makes, in either order.
bool compares_with(Expr e, ScalarOp op, const Reduce& leader) {
  if (e.op() != op) return false;
  const Expr a = e.args()[0], b = e.args()[1];
  return (a == leader.value && is_load_of(b, leader)) ||
         (b == leader.value && is_load_of(a, leader));
}

// Whether both are NaN, in either order.
bool both_are_nan(Expr e, const Reduce& leader) {
  if (e.op() != ScalarOp::bit_and) return false;
  const auto differs_from_itself = [](Expr x) {
    return x.op() == ScalarOp::ne && x.args()[0] == x.args()[1];
  };
  const Expr a = e.args()[0], b = e.args()[1];
  if (!differs_from_itself(a) || !differs_from_itself(b)) return false;
  const Expr x = a.args()[0], y = b.args()[0];
  return (x == leader.value && is_load_of(y, leader)) ||
         (y == leader.value && is_load_of(x, leader));
}

bool is_extremum(Expr condition, const Reduce& leader) {
  if (!aten_bridge::is_floating(leader.value.dtype()))
    return compares_with(condition, ScalarOp::eq, leader);
  if (condition.op() != ScalarOp::bit_or) return false;
  const Expr a = condition.args()[0], b = condition.args()[1];
  return (compares_with(a, ScalarOp::eq, leader) && both_are_nan(b, leader)) ||
         (compares_with(b, ScalarOp::eq, leader) && both_are_nan(a, leader));
}

}  // namespace

std::optional<Following> following(const Reduce& reduce, const Reduce& leader) {
  if (leader.op != ReduceOp::kMax && leader.op != ReduceOp::kMin) return std::nullopt;
  const Expr value = reduce.value;
  if (reduce.op == ReduceOp::kSum && leader.op == ReduceOp::kMax && value.op() == ScalarOp::exp) {
    const Expr exponent = value.args()[0];
    if (exponent.op() == ScalarOp::sub && exponent.args()[0] == leader.value &&
        is_load_of(exponent.args()[1], leader))
      return Following{Following::What::kExponentials, leader.value, {}};
  }
  if (reduce.op == ReduceOp::kMin && value.op() == ScalarOp::select &&
      value.dtype() == DType::kInt64) {
    const Expr place = value.args()[1], none = value.args()[2];
    if (none.op() == ScalarOp::constant && none.integer() == std::numeric_limits<int64_t>::max() &&
        is_extremum(value.args()[0], leader))
      return Following{Following::What::kPlace, leader.value, place};
  }
  return std::nullopt;
}

const Reduce* leader_of(std::span<const Stmt> body, const Reduce& follower) {
  for (const Stmt& stmt : body) {
    const auto* leader = std::get_if<Reduce>(&stmt);
    if (leader == &follower) return nullptr;
    if (leader && following(follower, *leader)) return leader;
  }
  return nullptr;
}

const Reduce* follower_of(std::span<const Stmt> body, const Reduce& leader) {
  for (const Stmt& stmt : body) {
    const auto* follower = std::get_if<Reduce>(&stmt);
    if (follower && follower != &leader && leader_of(body, *follower) == &leader) return follower;
  }
  return nullptr;
}

std::vector<Expr> computed(std::span<const Stmt> body) {
  std::vector<Expr> all;
  for (const Stmt& stmt : body) {
    if (std::holds_alternative<Loop>(stmt)) continue;
    const auto* reduce = std::get_if<Reduce>(&stmt);
    if (reduce && follower_of(body, *reduce)) continue;
    if (const Reduce* leader = reduce ? leader_of(body, *reduce) : nullptr) {
      const Following f = *following(*reduce, *leader);
      all.push_back(f.element);
      if (f.place) all.push_back(f.place);
      continue;
    }
    for (Expr e : expressions(stmt)) all.push_back(e);
  }
  return all;
}

}  // namespace inductor
