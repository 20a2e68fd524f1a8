#include "inductor/schedule/contract.h"

#include <algorithm>
#include <optional>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/registers.h"

namespace inductor {
namespace {

// ---- Stores and loads ----

void forward(ExprPool& pool, std::vector<Stmt>& body) {
  HashMap<std::pair<int, SymExpr>, Expr> stored;
  const auto forget = [&](int buffer) {  // something may have been added to it
    erase_if(stored, [&](const auto& entry) { return entry.first.first == buffer; });
  };
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<Loop>(&stmt)) {
      forward(pool, loop->body);
      for (int b : buffers_written(stmt)) forget(b);
      continue;
    }
    rewrite_leaf(
        stmt,
        [&](Expr root) {
          return rewrite(pool, root, [&](Expr e) {
            if (e.op() != ScalarOp::load) return Expr();
            const auto it = stored.find({e.buffer(), e.index()});
            return it == stored.end() ? Expr() : it->second;
          });
        },
        [](const SymExpr& index) { return index; });
    if (const auto* store = std::get_if<Store>(&stmt))
      stored[{store->buffer, store->index}] = store->value;
    else
      forget(written_buffer(stmt));
  }
}

// By buffer.
std::vector<bool> read_buffers(const LoopProgram& program) {
  std::vector<bool> read(program.buffers.size());
  for (const Stmt& stmt : program.body)
    for (int b : buffers_read(stmt)) read[b] = true;
  for (const auto& output : program.outputs)
    if (output) read[output->buffer] = true;
  return read;
}

// Whether anything was removed.
bool remove_from(std::vector<Stmt>& body, const std::function<bool(int)>& is_unread) {
  bool changed = false;
  std::erase_if(body, [&](Stmt& stmt) {
    const auto inside = [&](auto& outer) {
      changed |= remove_from(outer.body, is_unread);
      return outer.body.empty();
    };
    const bool goes = std::visit(overloaded{
                                     [&](Loop& l) { return inside(l); },
                                     [](Kernel&) { return false; },
                                     [](ExternCall&) { return false; },
                                     [&](auto& leaf) { return is_unread(leaf.buffer); },
                                 },
                                 stmt);
    changed |= goes;
    return goes;
  });
  return changed;
}

void remove_empty_kernels(LoopProgram& program) {
  size_t kept = 0;
  for (size_t i = 0; i < program.body.size(); ++i) {
    const auto* kernel = std::get_if<Kernel>(&program.body[i]);
    if (kernel && kernel->body.empty()) continue;
    if (kept != i) {
      program.body[kept] = std::move(program.body[i]);
      program.origins[kept] = std::move(program.origins[i]);
    }
    ++kept;
  }
  program.body.resize(kept);
  program.origins.resize(kept);
}

// ---- Locals ----

HashMap<int, std::vector<Use>> uses_in(const Kernel& kernel) {
  HashMap<int, std::vector<Use>> uses;
  for_each_leaf(kernel.body, [&](std::span<const Loop* const> around, const Stmt& leaf) {
    const bool reduces = std::holds_alternative<Reduce>(leaf);
    for (const Access& a : accesses_of_leaf(leaf, around))
      uses[a.buffer].push_back(
          {{around.begin(), around.end()}, a, reduces && a.kind == AccessKind::kWrite});
  });
  return uses;
}

// The loops around all uses whose terms may go. An innermost loop's iterations may run side by
// side; a Reduce's index must mention the reduction loops that it does not reduce over.
std::vector<const Loop*> common_loops(const std::vector<Use>& uses) {
  std::vector<const Loop*> common = uses[0].around;
  for (const Use& u : uses) {
    const auto end = std::mismatch(common.begin(), common.end(), u.around.begin(), u.around.end());
    common.erase(end.first, common.end());
  }
  if (!common.empty() && is_innermost(*common.back())) common.pop_back();
  if (std::any_of(uses.begin(), uses.end(), [](const Use& u) { return u.is_reduced; }))
    std::erase_if(common, [](const Loop* l) { return l->kind == LoopKind::kReduction; });
  return common;
}

struct Row {
  SymExpr dropped;  // what to take off every index
  int64_t size;
};

std::optional<Row> row_of(const std::vector<Use>& uses, const Extents& extents) {
  const std::vector<const Loop*> common = common_loops(uses);
  if (common.empty()) return std::nullopt;
  SymExpr dropped = 0;
  for (const Loop* l : common) {
    const auto step = uses[0].access.index.coefficient(l->var);
    if (!step) return std::nullopt;
    dropped += *step * SymExpr::symbol(l->var);
  }
  Bounds all{Bounds().high, Bounds().low};
  for (const Use& u : uses) {
    const SymExpr rest = u.access.index - dropped;
    for (const Loop* l : common)
      if (rest.mentions(l->var)) return std::nullopt;
    const Bounds b = bounds_of(rest, u.access.symbol_bounds, extents);
    if (u.access.kind == AccessKind::kScatter || !is_bounded(b)) return std::nullopt;
    all = {std::min(all.low, b.low), std::max(all.high, b.high)};
  }
  return Row{dropped + all.low, all.high - all.low + 1};
}

void rewrite_indices(ExprPool& pool, std::vector<Stmt>& body, int buffer, const SymExpr& dropped) {
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<Loop>(&stmt)) {
      rewrite_indices(pool, loop->body, buffer, dropped);
      continue;
    }
    const bool writes = written_buffer(stmt) == buffer;
    rewrite_leaf(
        stmt,
        [&](Expr root) {
          return rewrite(pool, root, [&](Expr e) {
            if (e.op() != ScalarOp::load || e.buffer() != buffer) return Expr();
            return pool.load(buffer, e.index() - dropped, e.dtype(),
                             {e.args().begin(), e.args().end()});
          });
        },
        [&](const SymExpr& index) { return writes ? index - dropped : index; });
  }
}

}  // namespace

void forward_stores(LoopProgram& program, Kernel& kernel) { forward(program.pool, kernel.body); }

void remove_unread(LoopProgram& program) {
  for (bool changed = true; changed;) {
    const std::vector<bool> read = read_buffers(program);
    changed = false;
    for (Stmt& stmt : program.body)
      if (auto* kernel = std::get_if<Kernel>(&stmt))
        changed |= remove_from(kernel->body, [&](int b) {
          return program.buffers[b].role == BufferRole::kTemporary && !read[b];
        });
    remove_empty_kernels(program);
  }
}

void make_local(LoopProgram& program, const Features& features) {
  std::vector<int> users(program.buffers.size());  // statements that use a buffer
  for (const Stmt& stmt : program.body) {
    std::vector<int> used = buffers_read(stmt);
    const std::vector<int> written = buffers_written(stmt);
    used.insert(used.end(), written.begin(), written.end());
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (int b : used) ++users[b];
  }
  for (Stmt& stmt : program.body) {
    auto* kernel = std::get_if<Kernel>(&stmt);
    if (!kernel) continue;
    Extents extents;
    add_extents(kernel->body, extents);
    int64_t bytes = 0;
    const auto uses = uses_in(*kernel);
    for (int b : buffers_written(stmt)) {
      Buffer& buffer = program.buffers[b];
      if (buffer.role != BufferRole::kTemporary || users[b] != 1) continue;
      const auto row = row_of(uses.at(b), extents);
      const int64_t size = row ? row->size * aten_bridge::size_in_bytes(buffer.type.dtype) : 0;
      if (!row || bytes + size > features.local_bytes) continue;
      if (features.has_lanes && !lanes_can_keep(uses.at(b), row->dropped, row->size)) continue;
      bytes += size;
      buffer.role = BufferRole::kLocal;
      buffer.type.sizes = {row->size};
      buffer.type.strides = {1};
      rewrite_indices(program.pool, kernel->body, b, row->dropped);
    }
  }
}

}  // namespace inductor
