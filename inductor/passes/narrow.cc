#include "inductor/passes/narrow.h"

#include <optional>
#include <vector>

#include "inductor/ir/rewrite.h"
#include "inductor/ir/visit.h"
#include "inductor/passes/fold.h"
#include "inductor/passes/leaves.h"

namespace inductor {
namespace {

// What is known of a buffer's writers so far.
struct Candidate {
  bool possible = true;
  std::optional<DType> dtype;  // of what is stored, before it is widened
};

// Of a widened value: the narrower one. A literal's dtype says nothing.
Expr before_widening(Expr value) {
  if (value.op() != ScalarOp::cast) return {};
  const Expr narrow = value.args()[0];
  const bool halves =
      aten_bridge::size_in_bytes(narrow.dtype()) < aten_bridge::size_in_bytes(value.dtype());
  return halves && holds_all(value.dtype(), narrow.dtype()) ? narrow : Expr();
}

std::vector<Candidate> candidates(const LoopProgram& program) {
  std::vector<Candidate> found(program.buffers.size());
  for (size_t b = 0; b < found.size(); ++b)
    found[b].possible = program.buffers[b].role == BufferRole::kTemporary;
  for (const Stmt& stmt : program.body) {
    const Stmt* leaf = leaf_of(stmt);
    if (!leaf) {
      for (int b : buffers_read(stmt)) found[b].possible = false;
      for (int b : buffers_written(stmt)) found[b].possible = false;
      continue;
    }
    Candidate& target = found[written_buffer(*leaf)];
    const auto* store = std::get_if<Store>(leaf);
    const Expr narrow = store ? before_widening(store->value) : Expr();
    target.possible &= narrow && target.dtype.value_or(narrow.dtype()) == narrow.dtype();
    if (narrow) target.dtype = narrow.dtype();
  }
  return found;
}

}  // namespace

void narrow_temporaries(LoopProgram& program) {
  const std::vector<Candidate> found = candidates(program);
  const auto narrows = [&](int b) { return found[b].possible && found[b].dtype; };
  for (size_t b = 0; b < found.size(); ++b)
    if (narrows(static_cast<int>(b))) program.buffers[b].type.dtype = *found[b].dtype;
  for_each_nest(program, [&](Stmt& leaf, Loops) {
    rewrite_leaf(
        leaf,
        [&](Expr root) {
          return rewrite(program.pool, root, [&](Expr e) -> Expr {
            if (e.op() != ScalarOp::load || !narrows(e.buffer())) return {};
            const Expr load = program.pool.load(e.buffer(), e.index(), *found[e.buffer()].dtype,
                                                {e.args().begin(), e.args().end()});
            return program.pool.cast(e.dtype(), load);
          });
        },
        [](const SymExpr& index) { return index; });
    auto* store = std::get_if<Store>(&leaf);
    if (store && narrows(store->buffer)) store->value = store->value.args()[0];
  });
}

}  // namespace inductor
