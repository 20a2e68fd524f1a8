#include "inductor/emit/hoist.h"

#include "aten_bridge/base/hash_map.h"
#include "inductor/ir/visit.h"

namespace inductor {
namespace {

class Hoister {
 public:
  explicit Hoister(const Loop& loop) : loop_(loop) {
    for (const Stmt& leaf : loop.body) written_.insert(written_buffer(leaf));
  }

  bool varies(Expr e) {
    auto [it, is_new] = varies_.try_emplace(e.node(), false);
    if (!is_new) return it->second;
    bool answer = false;
    if (e.op() == ScalarOp::load || e.op() == ScalarOp::index)
      answer = e.index().mentions(loop_.var);
    if (e.op() == ScalarOp::load) answer |= written_.contains(e.buffer());
    for (Expr arg : e.args()) answer |= varies(arg);
    return varies_[e.node()] = answer;
  }

  void collect(Expr e) {
    if (!seen_.insert(e.node()).second) return;
    if (varies(e)) {
      for (Expr arg : e.args()) collect(arg);
    } else if (e.op() != ScalarOp::constant) {
      found.push_back(e);
    }
  }

  std::vector<Expr> found;

 private:
  const Loop& loop_;
  HashSet<int> written_;
  HashMap<const ExprNode*, bool> varies_;
  HashSet<const ExprNode*> seen_;
};

}  // namespace

std::vector<Expr> roots(std::span<const Stmt> body) {
  std::vector<Expr> all;
  for (const Stmt& stmt : body)
    if (!std::holds_alternative<Loop>(stmt))
      for (Expr e : expressions(stmt)) all.push_back(e);
  return all;
}

std::vector<Expr> invariants(const Loop& innermost) {
  Hoister hoister(innermost);
  for (Expr e : roots(innermost.body)) hoister.collect(e);
  return hoister.found;
}

}  // namespace inductor
