// Visitors over statements and expressions.
//   for_each_leaf(program.body, [&](std::span<const Loop* const> loops, const Stmt& leaf) { ... });
//   for (Expr load : store.value.loads()) read(load.buffer());
//   std::visit(overloaded{[](const Loop& l) { ... }, [](const Store& s) { ... }, ...}, stmt);
// Alternatives of Stmt are visited without a default, so that a new one breaks the build.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "inductor/ir/loop.h"

namespace inductor {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

// Every statement in execution order, a loop or kernel before its body.
void for_each_stmt(std::span<const Stmt> body, const std::function<void(const Stmt&)>& visit);
// Every Store, Reduce and Scatter (not ExternCall), with the loops around it, outermost first.
void for_each_leaf(std::span<const Stmt> body,
                   const std::function<void(std::span<const Loop* const>, const Stmt&)>& visit);

// No loop stands directly inside.
bool is_innermost(const Loop& loop);
// A body's loop where it is all there is, else null.
inline const Loop* only_loop(const std::vector<Stmt>& body) {
  return body.size() == 1 ? std::get_if<Loop>(&body[0]) : nullptr;
}
inline Loop* only_loop(std::vector<Stmt>& body) {
  return body.size() == 1 ? std::get_if<Loop>(&body[0]) : nullptr;
}

// What a Store, Reduce or Scatter writes; checked.
int written_buffer(const Stmt& leaf);
const SymExpr& written_index(const Stmt& leaf);
// Its expressions: the value, and a Scatter's symbol values.
std::vector<Expr> expressions(const Stmt& leaf);

// The loads in a leaf's expressions, each once, in the order of a depth-first walk.
std::vector<Expr> loads(const Stmt& leaf);
// Every node below root, each once, arguments before their users.
void for_each_node(std::span<const Expr> roots, const std::function<void(Expr)>& visit);
// Whether an index below root, a load's or a number, contains the symbol.
bool mentions(std::span<const Expr> roots, Symbol symbol);

// Buffers a statement and everything inside it reads or writes, sorted, each once. A Reduce and a
// Scatter read what they add to, but only write here.
std::vector<int> buffers_read(const Stmt& stmt);
std::vector<int> buffers_written(const Stmt& stmt);

// The buffers an extern call's arguments refer to, in order.
std::vector<TensorRef> tensor_args(const ExternCall& call);

}  // namespace inductor
