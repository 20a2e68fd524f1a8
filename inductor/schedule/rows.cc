#include "inductor/schedule/rows.h"

#include <algorithm>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/chain.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

constexpr int64_t kMostRows = 16;
constexpr int64_t kElementsOfThread = 8;
constexpr int64_t kEnoughThreads = 128 * 1024;

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

std::optional<Symbol> take_rows_together(LoopProgram& program, Kernel& kernel) {
  std::optional<Chain> chain = chain_of(kernel);
  if (!chain) return std::nullopt;
  int64_t elements = 1;
  for (const Loop& l : chain->loops) {
    if (l.kind != LoopKind::kSerial || !l.extent.is_constant()) return std::nullopt;
    elements *= trip_count(l);
  }
  const Bytes bytes = bytes_of(program, *chain);
  if (2 * bytes.common < bytes.own) return std::nullopt;
  const size_t at = chain->loops.size() - 2;
  int64_t rows = kMostRows;
  while (rows > 1 && (trip_count(chain->loops[at]) % rows != 0 ||
                      elements < rows * kElementsOfThread * kEnoughThreads))
    rows /= 2;
  if (rows == 1) return std::nullopt;
  const Symbol var = chain->loops[at].var;
  Loop outer = strip(program, *chain, at, rows);
  chain->loops.insert(chain->loops.begin() + static_cast<ptrdiff_t>(at), std::move(outer));
  kernel.body = rebuild(*std::move(chain));
  return var;
}

}  // namespace inductor
