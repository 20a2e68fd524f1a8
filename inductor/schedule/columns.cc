#include "inductor/schedule/columns.h"

#include <algorithm>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/device_size.h"
#include "inductor/schedule/nest.h"

namespace inductor {
namespace {

constexpr int64_t kFewestColumns = kWarp;  // of a block: one a lane

// The innermost loop of perfect loops; null where they are not perfect.
const Loop* innermost_of(const Stmt& stmt) {
  const auto* loop = std::get_if<Loop>(&stmt);
  while (loop && !is_innermost(*loop)) loop = only_loop(loop->body);
  return loop;
}

Loop* innermost_of(Stmt& stmt) {
  return const_cast<Loop*>(innermost_of(const_cast<const Stmt&>(stmt)));
}

// Whether elements that both touch are of one column: whole rows lie between those of a column.
bool is_one_column(const Access& a, const Access& b, Symbol column, int64_t columns) {
  const auto step = a.index.coefficient(column);
  if (!step || *step <= 0 || b.index.coefficient(column) != step) return false;
  const int64_t row = *step * columns;
  SymExpr between = a.index - b.index;
  for (Symbol s : between.symbols()) {
    const auto coefficient = between.coefficient(s);
    if (s.kind != 'i' || !coefficient || *coefficient % row != 0) return false;
    between = between.substitute({{s, 0}});
  }
  return between.constant().value_or(1) % row == 0;
}

bool share_columns(std::vector<Access> a, std::vector<Access> b, Symbol column,
                   const Extents& extents, const LoopProgram& program) {
  keep_conflicts(a, b);
  const int64_t columns = extents.at(column).as_constant();
  return std::all_of(a.begin(), a.end(), [&](const Access& one) {
    return std::all_of(b.begin(), b.end(), [&](const Access& other) {
      if (one.buffer != other.buffer || !conflict(one.kind, other.kind)) return true;
      return is_one_column(one, other, column, columns) ||
             share_iterations({&one, 1}, {&other, 1}, column, extents, program);
    });
  });
}

std::vector<Stmt>& inside_of_serial_loops(Kernel& kernel) {
  std::vector<Stmt>* body = &kernel.body;
  for (Loop* l = only_loop(*body); l && l->kind == LoopKind::kSerial && !is_innermost(*l);
       l = only_loop(*body))
    body = &l->body;
  return *body;
}

int64_t iterations_around(const Kernel& kernel, const std::vector<Stmt>& body) {
  int64_t count = 1;
  const std::vector<Stmt>* at = &kernel.body;
  while (at != &body) {
    const Loop* loop = only_loop(*at);
    count *= trip_count(*loop);
    at = &loop->body;
  }
  return count;
}

}  // namespace

int64_t columns_of_block(int64_t columns, int64_t around) {
  std::vector<int64_t> sizes;  // an access a lane each; or else as many as can be
  for (int64_t size = kColumnsOfBlock; size >= kFewestColumns; size /= 2) sizes.push_back(size);
  sizes.push_back(48);  // three accesses of 8 for each of two lanes
  for (const int64_t multiple : {8, 4, 1})
    for (int64_t size = kColumnsOfBlock; size >= kFewestColumns; size -= multiple)
      sizes.push_back(size);
  int64_t best = columns;
  for (const int64_t size : sizes) {
    if (columns % size != 0 || size > best) continue;
    best = size;
    if (around * (columns / size) >= kEnoughBlocks || size == kFewestColumns) break;
  }
  return best;
}

std::optional<int64_t> common_columns(const LoopProgram& program, const std::vector<Stmt>& body) {
  if (body.size() < 2) return std::nullopt;
  std::optional<int64_t> columns;
  Extents extents;
  add_extents(body, extents);
  const Symbol column{'i', program.next_var};  // which no loop has
  std::vector<std::vector<Access>> all;
  for (const Stmt& stmt : body) {
    const Loop* loop = innermost_of(stmt);
    const auto extent = loop ? loop->extent.constant() : std::nullopt;
    if (!extent || loop->kind != LoopKind::kSerial || columns.value_or(*extent) != *extent)
      return std::nullopt;
    columns = extent;
    extents[column] = loop->extent;
    all.push_back(accesses(stmt));
    substitute(all.back(), {{loop->var, SymExpr::symbol(column)}});
  }
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i; j < all.size(); ++j)
      if (!share_columns(all[i], all[j], column, extents, program)) return std::nullopt;
  return columns;
}

void spread_common_columns(LoopProgram& program, Kernel& kernel) {
  std::vector<Stmt>& body = inside_of_serial_loops(kernel);
  const std::optional<int64_t> columns = common_columns(program, body);
  if (!columns) return;
  const int64_t size = columns_of_block(*columns, iterations_around(kernel, body));
  if (*columns <= size) return;
  Loop outer{fresh_variable(program), *columns / size};
  for (Stmt& stmt : body) {
    Loop& loop = *innermost_of(stmt);
    loop.extent = size;
    const SymExpr column = size * SymExpr::symbol(outer.var) + SymExpr::symbol(loop.var);
    for (Stmt& leaf : loop.body) substitute(program.pool, leaf, loop.var, column);
  }
  outer.body = std::move(body);
  body.clear();
  body.push_back(std::move(outer));
}

}  // namespace inductor
