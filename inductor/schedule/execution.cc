#include "inductor/schedule/execution.h"

#include <algorithm>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

constexpr int64_t kWorthThreads = 64 * 1024;  // work
constexpr int64_t kEnoughIterations = 64;     // for many threads
constexpr int64_t kLeastVector = 8;           // iterations

// Lanes read and write where their neighbours do, or compute enough to pay for gathering.
bool is_worth_vectors(const Loop& loop) {
  if (loop.extent.constant().value_or(kLeastVector) < kLeastVector) return false;
  int64_t together = 0, apart = 0;
  for (const Stmt& leaf : loop.body) {
    if (const auto* scatter = std::get_if<Scatter>(&leaf)) {
      const auto varies = [&](Expr root) {
        bool found = false;
        for_each_node({&root, 1}, [&](Expr e) {
          if (e.op() == ScalarOp::load || e.op() == ScalarOp::index)
            found |= e.index().mentions(loop.var);
        });
        return found;
      };
      const auto& values = scatter->symbol_values;
      if (std::any_of(values.begin(), values.end(), varies)) return false;  // lanes may meet
      if (scatter->index.coefficient(loop.var) != 1) return false;
    }
    for (const Access& a : accesses(leaf)) {
      const auto step = a.index.coefficient(loop.var);
      (step == 0 || step == 1) ? ++together : ++apart;
    }
  }
  return apart == 0 || apart < together || work(loop.body) > 8 * apart;
}

void choose_vectors(std::vector<Stmt>& body) {
  for (Stmt& stmt : body) {
    auto* loop = std::get_if<Loop>(&stmt);
    if (!loop) continue;
    if (is_innermost(*loop))
      loop->vector = is_worth_vectors(*loop);
    else
      choose_vectors(loop->body);
  }
}

void choose_threads(Loop& outermost) {
  if (work(Stmt(outermost)) < kWorthThreads) return;
  Loop* loop = &outermost;
  int64_t iterations = 1;
  while (loop->kind == LoopKind::kSerial) {
    loop->parallel = true;
    iterations *= trip_count(*loop);
    if (iterations >= kEnoughIterations || loop->body.size() != 1) return;
    loop = std::get_if<Loop>(&loop->body[0]);
    if (!loop || is_innermost(*loop)) return;
  }
}

}  // namespace

void choose_execution(const LoopProgram&, Kernel& kernel, const Features&) {
  choose_vectors(kernel.body);
  for (Stmt& stmt : kernel.body)
    if (auto* loop = std::get_if<Loop>(&stmt)) choose_threads(*loop);
}

}  // namespace inductor
