#include "inductor/schedule/cost.h"

#include "inductor/ir/scalar_table.h"
#include "inductor/ir/visit.h"

namespace inductor {

int64_t trip_count(const Loop& loop) {
  constexpr int64_t kGuess = 64;
  return loop.extent.constant().value_or(kGuess);
}

int64_t work(std::span<const Expr> roots) {
  int64_t sum = 0;
  for_each_node(roots, [&](Expr e) {
    if (is_in_table(e.op()))
      sum += row(e.op()).cost;
    else if (e.op() != ScalarOp::constant)
      sum += 1;
  });
  return sum;
}

int64_t work(const Stmt& stmt) {
  return std::visit(overloaded{
                        [](const Loop& l) { return trip_count(l) * work(l.body); },
                        [](const Kernel& k) { return work(k.body); },
                        [](const ExternCall&) { return int64_t{0}; },
                        [&](const auto&) { return 1 + work(expressions(stmt)); },
                    },
                    stmt);
}

int64_t work(std::span<const Stmt> body) {
  int64_t sum = 0;
  for (const Stmt& stmt : body) sum += work(stmt);
  return sum;
}

}  // namespace inductor
