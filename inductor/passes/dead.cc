#include "inductor/passes/dead.h"

#include <algorithm>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/leaves.h"

namespace inductor {
namespace {

bool is_empty(const Loop& loop) { return loop.extent == 0; }

// A nest that writes nothing reads nothing: one loop of no iterations is left of it, so that its
// buffer still has a writer.
void empty(LoopProgram& program, Stmt& stmt) {
  if (leaf_of(stmt) == nullptr) return;
  FlatNest nest = FlatNest::take(std::move(stmt));
  const bool adds = std::holds_alternative<Scatter>(nest.leaf);
  const auto found = std::find_if(nest.loops.begin(), nest.loops.end(), [&](const Loop& loop) {
    return is_empty(loop) && (adds || loop.kind != LoopKind::kReduction);
  });
  if (found != nest.loops.end()) {
    const int buffer = written_buffer(nest.leaf);
    const DType dtype = program.buffers[buffer].type.dtype;
    const Expr zero = program.pool.cast(dtype, program.pool.integer(DType::kInt64, 0));
    nest.loops = {Loop{found->var, 0}};
    nest.leaf = Store{buffer, SymExpr::symbol(found->var), zero};
  }
  stmt = std::move(nest).rebuild();
}

void drop_statements(LoopProgram& program) {
  std::vector<bool> live(program.buffers.size());
  for (size_t b = 0; b < live.size(); ++b) live[b] = program.buffers[b].role == BufferRole::kOutput;
  std::vector<Stmt> kept;
  std::vector<std::string> origins;
  for (size_t n = program.body.size(); n-- > 0;) {
    Stmt& stmt = program.body[n];
    const Stmt* leaf = leaf_of(stmt);
    if (leaf && !live[written_buffer(*leaf)]) continue;
    for (int buffer : buffers_read(stmt)) live[buffer] = true;
    kept.push_back(std::move(stmt));
    if (!program.origins.empty()) origins.push_back(std::move(program.origins[n]));
  }
  std::reverse(kept.begin(), kept.end());
  std::reverse(origins.begin(), origins.end());
  program.body = std::move(kept);
  program.origins = std::move(origins);
}

class Renumbering {
 public:
  explicit Renumbering(LoopProgram& program) : program_(program) {
    std::vector<bool> used(program.buffers.size());
    for (int input : program.inputs) used[input] = true;
    for (const Stmt& stmt : program.body) {
      for (int b : buffers_read(stmt)) used[b] = true;
      for (int b : buffers_written(stmt)) used[b] = true;
    }
    for (size_t b = 0; b < used.size(); ++b) {
      to_.push_back(used[b] ? next_++ : -1);
      if (used[b]) kept_.push_back(std::move(program.buffers[b]));
    }
  }

  void run() {
    program_.buffers = std::move(kept_);
    for (int& input : program_.inputs) input = to_[input];
    for (auto& output : program_.outputs)
      if (output) output->buffer = to_[output->buffer];
    for (Stmt& stmt : program_.body) {
      if (Stmt* leaf = leaf_of(stmt)) {
        renumber_leaf(*leaf);
      } else {
        renumber_call(std::get<ExternCall>(stmt));
      }
    }
  }

 private:
  void renumber_leaf(Stmt& leaf) {
    rewrite_leaf(
        leaf,
        [&](Expr root) {
          return rewrite(program_.pool, root, [&](Expr e) -> Expr {
            if (e.op() != ScalarOp::load) return {};
            return program_.pool.load(to_[e.buffer()], e.index(), e.dtype(),
                                      {e.args().begin(), e.args().end()});
          });
        },
        [](const SymExpr& index) { return index; });
    if (auto* s = std::get_if<Store>(&leaf)) s->buffer = to_[s->buffer];
    if (auto* r = std::get_if<Reduce>(&leaf)) r->buffer = to_[r->buffer];
    if (auto* s = std::get_if<Scatter>(&leaf)) s->buffer = to_[s->buffer];
  }

  void renumber_call(ExternCall& call) {
    for (auto& [name, value] : call.args) {
      if (auto* ref = std::get_if<TensorRef>(&value)) ref->buffer = to_[ref->buffer];
      if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&value))
        for (auto& ref : *list)
          if (ref) ref->buffer = to_[ref->buffer];
    }
    for (auto& output : call.outputs)
      if (output) output = to_[*output];
  }

  LoopProgram& program_;
  std::vector<int> to_;
  std::vector<Buffer> kept_;
  int next_ = 0;
};

}  // namespace

void drop_dead(LoopProgram& program) {
  for (Stmt& stmt : program.body) empty(program, stmt);
  drop_statements(program);
  Renumbering(program).run();
}

}  // namespace inductor
