#include "inductor/schedule/chain.h"

#include "inductor/schedule/nest.h"

namespace inductor {

std::optional<Chain> chain_of(const Kernel& kernel) {
  if (kernel.body.size() != 1) return std::nullopt;
  Chain chain;
  const std::vector<Stmt>* body = &kernel.body;
  while (body->size() == 1) {
    const auto* loop = std::get_if<Loop>(&body->front());
    if (!loop) break;
    Loop head = *loop;
    head.body.clear();
    chain.loops.push_back(std::move(head));
    body = &loop->body;
  }
  for (const Stmt& s : *body)
    if (std::holds_alternative<Loop>(s)) return std::nullopt;
  if (chain.loops.size() < 2) return std::nullopt;
  chain.body = *body;
  return chain;
}

std::vector<Stmt> rebuild(Chain chain) {
  std::vector<Stmt> body = std::move(chain.body);
  for (size_t i = chain.loops.size(); i-- > 0;) {
    chain.loops[i].body = std::move(body);
    body.clear();
    body.push_back(std::move(chain.loops[i]));
  }
  return body;
}

Loop strip(LoopProgram& program, Chain& chain, size_t at, int64_t size) {
  Loop& inner = chain.loops[at];
  Loop outer = inner;
  outer.var = fresh_variable(program);
  outer.extent = inner.extent.as_constant() / size;
  inner.extent = size;
  const SymExpr value = size * SymExpr::symbol(outer.var) + SymExpr::symbol(inner.var);
  for (Stmt& s : chain.body) substitute(program.pool, s, inner.var, value);
  return outer;
}

}  // namespace inductor
