#include "inductor/ir/visit.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "inductor/ir/node_table.h"

namespace inductor {

void for_each_stmt(std::span<const Stmt> body, const std::function<void(const Stmt&)>& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    if (const auto* loop = std::get_if<Loop>(&stmt)) for_each_stmt(loop->body, visit);
    if (const auto* kernel = std::get_if<Kernel>(&stmt)) for_each_stmt(kernel->body, visit);
  }
}

namespace {

using LeafVisitor = std::function<void(std::span<const Loop* const>, const Stmt&)>;

void walk_leaves(std::span<const Stmt> body, std::vector<const Loop*>& loops,
                 const LeafVisitor& visit) {
  for (const Stmt& stmt : body) {
    std::visit(overloaded{
                   [&](const Loop& loop) {
                     loops.push_back(&loop);
                     walk_leaves(loop.body, loops, visit);
                     loops.pop_back();
                   },
                   [&](const Kernel& kernel) { walk_leaves(kernel.body, loops, visit); },
                   [&](const Store&) { visit(loops, stmt); },
                   [&](const Reduce&) { visit(loops, stmt); },
                   [&](const Scatter&) { visit(loops, stmt); },
                   [&](const ExternCall&) {},
               },
               stmt);
  }
}

struct Nothing {};
using Seen = NodeTable<Nothing>;

void walk_nodes(Expr e, Seen& seen, const std::function<void(Expr)>& visit) {
  if (seen.find(e)) return;
  seen.add(e, {});
  for (Expr arg : e.args()) walk_nodes(arg, seen, visit);
  visit(e);
}

std::vector<int> sorted_unique(std::vector<int> v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

}  // namespace

void for_each_leaf(std::span<const Stmt> body, const LeafVisitor& visit) {
  std::vector<const Loop*> loops;
  walk_leaves(body, loops, visit);
}

bool is_innermost(const Loop& loop) {
  return std::none_of(loop.body.begin(), loop.body.end(),
                      [](const Stmt& s) { return std::holds_alternative<Loop>(s); });
}

int written_buffer(const Stmt& leaf) {
  if (const auto* s = std::get_if<Store>(&leaf)) return s->buffer;
  if (const auto* r = std::get_if<Reduce>(&leaf)) return r->buffer;
  const auto* s = std::get_if<Scatter>(&leaf);
  TD_CHECK(s, "not a leaf");
  return s->buffer;
}

const SymExpr& written_index(const Stmt& leaf) {
  if (const auto* s = std::get_if<Store>(&leaf)) return s->index;
  if (const auto* r = std::get_if<Reduce>(&leaf)) return r->index;
  const auto* s = std::get_if<Scatter>(&leaf);
  TD_CHECK(s, "not a leaf");
  return s->index;
}

std::vector<Expr> expressions(const Stmt& leaf) {
  if (const auto* s = std::get_if<Store>(&leaf)) return {s->value};
  if (const auto* r = std::get_if<Reduce>(&leaf)) return {r->value};
  const auto* s = std::get_if<Scatter>(&leaf);
  TD_CHECK(s, "not a leaf");
  std::vector<Expr> all = s->symbol_values;
  all.push_back(s->value);
  return all;
}

void for_each_node(std::span<const Expr> roots, const std::function<void(Expr)>& visit) {
  Seen seen;
  for (Expr root : roots) walk_nodes(root, seen, visit);
}

bool mentions(std::span<const Expr> roots, Symbol symbol) {
  bool found = false;
  for_each_node(roots, [&](Expr e) {
    if (e.op() == ScalarOp::load || e.op() == ScalarOp::index) found |= e.index().mentions(symbol);
  });
  return found;
}

std::vector<Expr> loads(const Stmt& leaf) {
  std::vector<Expr> found;
  for (Expr root : expressions(leaf))
    for (Expr load : root.loads())
      if (std::find(found.begin(), found.end(), load) == found.end()) found.push_back(load);
  return found;
}

std::vector<TensorRef> tensor_args(const ExternCall& call) {
  std::vector<TensorRef> refs;
  for (const auto& [name, value] : call.args) {
    if (const auto* ref = std::get_if<TensorRef>(&value)) refs.push_back(*ref);
    if (const auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&value))
      for (const auto& ref : *list)
        if (ref) refs.push_back(*ref);
  }
  return refs;
}

std::vector<int> buffers_read(const Stmt& root) {
  std::vector<int> read;
  for_each_stmt({&root, 1}, [&](const Stmt& stmt) {
    if (const auto* call = std::get_if<ExternCall>(&stmt))
      for (const TensorRef& ref : tensor_args(*call)) read.push_back(ref.buffer);
  });
  for_each_leaf({&root, 1}, [&](auto, const Stmt& leaf) {
    for (Expr load : loads(leaf)) read.push_back(load.buffer());
  });
  return sorted_unique(std::move(read));
}

std::vector<int> buffers_written(const Stmt& root) {
  std::vector<int> written;
  for_each_stmt({&root, 1}, [&](const Stmt& stmt) {
    if (const auto* call = std::get_if<ExternCall>(&stmt))
      for (const auto& out : call->outputs)
        if (out) written.push_back(*out);
  });
  for_each_leaf({&root, 1},
                [&](auto, const Stmt& leaf) { written.push_back(written_buffer(leaf)); });
  return sorted_unique(std::move(written));
}

}  // namespace inductor
