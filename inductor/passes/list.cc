#include "aten_bridge/base/check.h"
#include "inductor/ir/text.h"
#include "inductor/passes/dead.h"
#include "inductor/passes/fold.h"
#include "inductor/passes/inline.h"
#include "inductor/passes/narrow.h"
#include "inductor/passes/one_hot.h"
#include "inductor/passes/order.h"
#include "inductor/passes/passes.h"
#include "inductor/passes/split.h"

namespace inductor {
namespace {

constexpr Pass kPasses[] = {
    {"prune", drop_dead, "first: what nobody needs must not count as a reader"},
    {"fold", fold, "before inline: literals and casts as lowering wrote them hide cheap producers"},
    {"order", order_loops, "before inline: a writer with the fewest loops inverts most easily"},
    {"inline", inline_producers, "after order; it cuts loops where a reader's are too coarse"},
    {"swept", drop_dead, "before split: what was inlined is no reader"},
    {"pick", pick_terms, "after inline: a comparison and the sum over it are one nest now"},
    {"split", split_readers, "after inline: what reads a concatenation is one nest now"},
    {"narrow", narrow_temporaries, "before refold: its casts meet those of readers"},
    {"refold", fold, "after inline: casts and clamps of writer and reader now meet"},
    {"reorder", order_loops, "after inline: cut loops merge again, reads have new strides"},
    {"dead", drop_dead, "last: inlining left nests that nobody reads"},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void run_passes(LoopProgram& program) {
  for (const Pass& pass : kPasses) {
    pass.run(program);
#ifndef NDEBUG
    const absl::Status status = verify(program);
    TD_CHECK(status.ok(), "after ", pass.name, ": ", std::string(status.message()), "\n",
             print(program));
#endif
  }
}

}  // namespace inductor
