#include "inductor/schedule/rows.h"

#include <algorithm>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/chain.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/device_size.h"

namespace inductor {
namespace {

constexpr int64_t kElementsOfBlock = 32 * 1024;  // 256 threads have 16 accesses of 8 each
constexpr int64_t kFewestRows = 8;

// Bytes of an element that are each row's own, and those that all rows read.
struct Bytes {
  int64_t own = 0, common = 0;
};

Bytes bytes_of(const LoopProgram& program, const Chain& chain) {
  Bytes bytes;
  for (const Stmt& leaf : chain.body) {
    for (const Access& a : accesses(leaf)) {
      const int64_t size = aten_bridge::size_in_bytes(program.buffers[a.buffer].type.dtype);
      const bool varies = std::any_of(chain.loops.begin(), chain.loops.end() - 1,
                                      [&](const Loop& l) { return a.index.mentions(l.var); });
      if (varies)
        bytes.own += size;
      else if (a.index.coefficient(chain.loops.back().var) == 1)
        bytes.common += size;
    }
  }
  return bytes;
}

}  // namespace

void take_rows_together(LoopProgram& program, Kernel& kernel) {
  std::optional<Chain> chain = chain_of(kernel);
  if (!chain) return;
  int64_t around = 1;
  for (const Loop& l : chain->loops) {
    if (l.kind != LoopKind::kSerial || !l.extent.is_constant()) return;
    around *= trip_count(l);
  }
  const Bytes bytes = bytes_of(program, *chain);
  if (bytes.common < 2 * bytes.own) return;
  const size_t at = chain->loops.size() - 2;
  const int64_t columns = trip_count(chain->loops.back()), all = trip_count(chain->loops[at]);
  if (columns == 0 || all == 0) return;
  around /= columns * all;
  int64_t rows = 1;
  while (2 * rows * columns <= kElementsOfBlock && all % (2 * rows) == 0 &&
         around * (all / (2 * rows)) >= 2 * kEnoughBlocks)
    rows *= 2;
  if (rows < kFewestRows) return;
  Loop outer = strip(program, *chain, at, rows);
  chain->loops[at].kind = LoopKind::kReduction;
  chain->loops.insert(chain->loops.begin() + static_cast<ptrdiff_t>(at), std::move(outer));
  kernel.body = rebuild(*std::move(chain));
}

}  // namespace inductor
