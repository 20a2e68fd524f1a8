#include "inductor/schedule/registers.h"

#include <algorithm>
#include <map>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/lanes.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;

constexpr int64_t kMostRows = 3;  // of kRowOfLane registers each; a thread has 255 at most

bool is_one_value(std::span<const Use> uses) {
  std::vector<const Loop*> common = uses[0].around;
  for (const Use& u : uses) {
    if (u.access.index != uses[0].access.index) return false;
    const auto end = std::mismatch(common.begin(), common.end(), u.around.begin(), u.around.end());
    common.erase(end.first, common.end());
  }
  const std::vector<Symbol> symbols = uses[0].access.index.symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](Symbol s) {
    return std::any_of(common.begin(), common.end(), [&](const Loop* l) { return l->var == s; });
  });
}

void replace_loads(ExprPool& pool, Stmt& stmt, const std::function<Expr(Expr)>& replace) {
  if (auto* loop = std::get_if<Loop>(&stmt)) {
    for (Stmt& inner : loop->body) replace_loads(pool, inner, replace);
    return;
  }
  rewrite_leaf(
      stmt,
      [&](Expr root) {
        return rewrite(pool, root,
                       [&](Expr e) { return e.op() == ScalarOp::load ? replace(e) : Expr(); });
      },
      [](const SymExpr& index) { return index; });
}

// A Reduce inside of `loop` whose single result is complete where the loop ends.
Reduce* single_result(Loop& loop, const HashSet<int>& read) {
  Reduce* found = nullptr;
  const std::function<void(std::vector<Stmt>&, std::vector<Symbol>&)> visit =
      [&](std::vector<Stmt>& body, std::vector<Symbol>& vars) {
        for (Stmt& stmt : body) {
          if (auto* inner = std::get_if<Loop>(&stmt)) {
            vars.push_back(inner->var);
            visit(inner->body, vars);
            vars.pop_back();
          } else if (auto* reduce = std::get_if<Reduce>(&stmt)) {
            const bool single = std::none_of(vars.begin(), vars.end(),
                                             [&](Symbol v) { return reduce->index.mentions(v); });
            if (single && read.contains(reduce->buffer)) found = reduce;
          }
        }
      };
  std::vector<Symbol> vars{loop.var};
  visit(loop.body, vars);
  return found;
}

// A buffer of the lanes: named after the one in memory, and once.
int add_local(LoopProgram& program, const std::string& name, TensorType type) {
  const auto is_taken = [&](const std::string& n) {
    return std::any_of(program.buffers.begin(), program.buffers.end(),
                       [&](const Buffer& b) { return b.name == n; });
  };
  std::string unique = name;
  for (int n = 2; is_taken(unique); ++n) unique = str_cat(name, "_", n);
  program.buffers.push_back({std::move(unique), std::move(type), BufferRole::kLocal});
  return static_cast<int>(program.buffers.size()) - 1;
}

// Where a new variable stands for an element of `target`.
struct Kept {
  int local;
  Expr value;  // its load
};

// Replaces the loads of the element in `body[at]`, where another reduction may follow it, and
// behind.
Kept keep(LoopProgram& program, std::vector<Stmt>& body, size_t at, int target,
          const SymExpr& index) {
  const Buffer& in_memory = program.buffers[target];
  const DType dtype = in_memory.type.dtype;
  const int local = add_local(program, str_cat(in_memory.name, "_value"), in_memory.type);
  const Expr value = program.pool.load(local, index, dtype);
  for (size_t k = at; k < body.size(); ++k)
    replace_loads(program.pool, body[k], [&](Expr e) {
      return e.buffer() == target && e.index() == index ? value : Expr();
    });
  return {local, value};
}

bool is_local(const LoopProgram& program, int buffer) {
  return program.buffers[buffer].role == BufferRole::kLocal;
}

void keep_values_in(LoopProgram& program, std::vector<Stmt>& body, const HashSet<int>& read) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (auto* store = std::get_if<Store>(&body[i])) {
      const bool is_kept =
          store->value.op() == ScalarOp::load && is_local(program, store->value.buffer());
      if (is_kept || is_local(program, store->buffer) || !read.contains(store->buffer)) continue;
      const Store to_memory = *store;
      const Kept kept = keep(program, body, i, to_memory.buffer, to_memory.index);
      body[i] = Store{kept.local, to_memory.index, to_memory.value};
      body.insert(body.begin() + static_cast<ptrdiff_t>(++i),
                  Store{to_memory.buffer, to_memory.index, kept.value});
      continue;
    }
    auto* loop = std::get_if<Loop>(&body[i]);
    if (!loop) continue;
    while (Reduce* reduce =
               loop->kind == LoopKind::kReduction ? single_result(*loop, read) : nullptr) {
      const int target = reduce->buffer;
      const SymExpr index = reduce->index;
      if (is_local(program, target)) break;
      const Kept kept = keep(program, body, i, target, index);
      reduce->buffer = kept.local;
      body.insert(body.begin() + static_cast<ptrdiff_t>(i) + 1, Store{target, index, kept.value});
      loop = std::get_if<Loop>(&body[i]);
    }
    if (!is_innermost(*loop)) keep_values_in(program, loop->body, read);
  }
}

// ---- Rows ----

// A load as its loops see it: the buffer, and the index with the loop's variable renamed.
struct RowKey {
  int buffer;
  std::string index;
  auto operator<=>(const RowKey&) const = default;
};

struct RowReads {
  std::vector<size_t> loops;  // of the body, ascending
  Expr first;                 // in the first of them
};

const Symbol kAnyVariable{'i', -1};

std::map<RowKey, RowReads> rows_read(const std::vector<Stmt>& body, const SymExpr& extent,
                                     const HashSet<int>& excluded) {
  std::map<RowKey, RowReads> rows;
  for (size_t i = 0; i < body.size(); ++i) {
    const auto* loop = std::get_if<Loop>(&body[i]);
    if (!loop || !is_innermost(*loop) || loop->extent != extent) continue;
    for (const Stmt& leaf : loop->body) {
      for_each_node(expressions(leaf), [&](Expr e) {
        if (e.op() != ScalarOp::load || excluded.contains(e.buffer()) || !e.args().empty()) return;
        // What does not change from row to row stays in the cache anyway.
        if (e.index().coefficient(loop->var) != 1 || e.index().symbols().size() < 2) return;
        const SymExpr index = e.index().substitute({{loop->var, SymExpr::symbol(kAnyVariable)}});
        RowReads& reads = rows[{e.buffer(), index.str()}];
        if (reads.loops.empty()) reads.first = e;
        if (reads.loops.empty() || reads.loops.back() != i) reads.loops.push_back(i);
      });
    }
  }
  std::erase_if(rows, [](const auto& row) { return row.second.loops.size() < 2; });
  return rows;
}

void keep_rows_in(LoopProgram& program, std::vector<Stmt>& body, const HashSet<int>& excluded) {
  std::vector<SymExpr> extents;
  for (Stmt& stmt : body) {
    auto* loop = std::get_if<Loop>(&stmt);
    if (!loop) continue;
    if (!is_innermost(*loop))
      keep_rows_in(program, loop->body, excluded);
    else if (std::find(extents.begin(), extents.end(), loop->extent) == extents.end())
      extents.push_back(loop->extent);
  }
  int64_t kept = 0;
  for (const SymExpr& extent : extents) {
    if (!row_fits_registers(extent)) continue;
    for (const auto& row_read : rows_read(body, extent, excluded)) {
      const RowKey& key = row_read.first;
      const RowReads& reads = row_read.second;
      if (kept++ == kMostRows) return;
      const DType dtype = reads.first.dtype();
      const Buffer& from = program.buffers[key.buffer];
      const int row = add_local(program, str_cat(from.name, "_row"),
                                {dtype, from.type.device, {extent}, {SymExpr(1)}});
      for (size_t i : reads.loops) {
        auto& loop = std::get<Loop>(body[i]);
        const SymExpr place = SymExpr::symbol(loop.var);
        if (i == reads.loops.front()) {
          loop.body.insert(loop.body.begin(), Store{row, place, reads.first});
          continue;
        }
        const Expr value = program.pool.load(row, place, dtype);
        for (Stmt& leaf : loop.body)
          replace_loads(program.pool, leaf, [&](Expr e) {
            const SymExpr index = e.index().substitute({{loop.var, SymExpr::symbol(kAnyVariable)}});
            return e.buffer() == key.buffer && index.str() == key.index ? value : Expr();
          });
      }
    }
  }
}

}  // namespace

bool lanes_can_keep(std::span<const Use> uses, const SymExpr& dropped, int64_t size) {
  if (is_one_value(uses)) return true;
  return row_fits_registers(size) && std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
           return !u.around.empty() && is_innermost(*u.around.back()) &&
                  u.around.back()->extent == SymExpr(size) &&
                  u.access.index - dropped == SymExpr::symbol(u.around.back()->var);
         });
}

void keep_values(LoopProgram& program, Kernel& kernel) {
  HashSet<int> read;
  for (const Stmt& stmt : kernel.body)
    for (int b : buffers_read(stmt)) read.insert(b);
  // A scatter may change what was stored.
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (const auto* scatter = std::get_if<Scatter>(&stmt)) read.erase(scatter->buffer);
  });
  keep_values_in(program, kernel.body, read);
}

void keep_rows(LoopProgram& program, Kernel& kernel) {
  HashSet<int> excluded;
  for (const Stmt& stmt : kernel.body)
    for (int b : buffers_written(stmt)) excluded.insert(b);
  keep_rows_in(program, kernel.body, excluded);
}

}  // namespace inductor
