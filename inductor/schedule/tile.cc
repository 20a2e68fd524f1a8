#include "inductor/schedule/tile.h"

#include <algorithm>
#include <cstdlib>

#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/chain.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

constexpr int64_t kTileAcross = 16;  // iterations: a cache line of f32
constexpr int64_t kTileAlong = 8;  // a vector; more lines of a large power of two apart would meet
constexpr int64_t kFar = 16;       // elements between neighbours that share no cache line
constexpr int64_t kWorthTiling = 64 * 1024;  // work
constexpr int64_t kBlock = 64;               // columns
constexpr int64_t kSector = 32;              // bytes: the least that a GPU reads or writes

bool divides(int64_t size, const Loop& loop) {
  const auto extent = loop.extent.constant();
  return extent && *extent % size == 0 && *extent > size;
}

bool are_serial(const Chain& chain) {
  return std::all_of(chain.loops.begin(), chain.loops.end(),
                     [](const Loop& l) { return l.kind == LoopKind::kSerial; });
}

// Whether each iteration has an element of its own, as far as steps are known.
bool walks_along_all(const Access& access, const Chain& chain) {
  return std::all_of(chain.loops.begin(), chain.loops.end(), [&](const Loop& l) {
    return access.index.coefficient(l.var).value_or(0) != 0;
  });
}

// A loop besides the innermost along which an access walks that is far apart along the innermost.
std::optional<size_t> crossing_loop(const Chain& chain, bool along_all = false) {
  const Loop& innermost = chain.loops.back();
  for (const Stmt& leaf : chain.body) {
    for (const Access& a : accesses(leaf)) {
      if (along_all && !walks_along_all(a, chain)) continue;
      if (std::abs(a.index.coefficient(innermost.var).value_or(0)) < kFar) continue;
      for (size_t k = 0; k + 1 < chain.loops.size(); ++k)
        if (a.index.coefficient(chain.loops[k].var) == 1) return k;
    }
  }
  return std::nullopt;
}

bool tile_transpose(LoopProgram& program, Chain& chain) {
  if (!are_serial(chain)) return false;
  const std::optional<size_t> at = crossing_loop(chain);
  if (!at || !divides(kTileAcross, chain.loops[*at]) || !divides(kTileAlong, chain.loops.back()))
    return false;
  Loop across = strip(program, chain, *at, kTileAcross);
  Loop along = strip(program, chain, chain.loops.size() - 1, kTileAlong);
  std::rotate(chain.loops.begin() + static_cast<ptrdiff_t>(*at),
              chain.loops.begin() + static_cast<ptrdiff_t>(*at) + 1, chain.loops.end() - 1);
  const auto inside = chain.loops.end() - 2;
  Loop outer[] = {std::move(across), std::move(along)};
  chain.loops.insert(inside, std::make_move_iterator(outer), std::make_move_iterator(outer + 2));
  return true;
}

bool spread_reduction(LoopProgram& program, Chain& chain) {
  const Loop& columns = chain.loops.back();
  if (chain.loops[0].kind != LoopKind::kReduction || columns.kind != LoopKind::kSerial)
    return false;
  if (!divides(kBlock, columns)) return false;
  Loop outer = strip(program, chain, chain.loops.size() - 1, kBlock);
  chain.loops.insert(chain.loops.begin(), std::move(outer));
  return true;
}

}  // namespace

void tile_by_sectors(LoopProgram& program, Kernel& kernel) {
  if (work(kernel.body) < kWorthTiling) return;
  std::optional<Chain> chain = chain_of(kernel);
  if (!chain || !are_serial(*chain)) return;
  const std::optional<size_t> at = crossing_loop(*chain, /*along_all=*/true);
  if (!at) return;
  int64_t item = kSector;
  for (const Stmt& leaf : chain->body) {
    const DType dtype = program.buffers[written_buffer(leaf)].type.dtype;
    item = std::min(item, static_cast<int64_t>(size_in_bytes(dtype)));
  }
  const int64_t size = kSector / item;
  const Loop& along = chain->loops.back();
  std::optional<Loop> pieces;
  if (divides(size, along)) {
    pieces = strip(program, *chain, chain->loops.size() - 1, size);
  } else if (along.extent != SymExpr(size)) {
    return;
  }
  const auto crossing = chain->loops.begin() + static_cast<ptrdiff_t>(*at);
  std::rotate(crossing, crossing + 1, chain->loops.end() - 1);
  if (pieces) chain->loops.insert(chain->loops.end() - 2, *std::move(pieces));
  kernel.body = rebuild(*std::move(chain));
}

void tile(LoopProgram& program, Kernel& kernel) {
  if (work(kernel.body) < kWorthTiling) return;
  std::optional<Chain> chain = chain_of(kernel);
  if (chain && (tile_transpose(program, *chain) || spread_reduction(program, *chain)))
    kernel.body = rebuild(std::move(*chain));
}

}  // namespace inductor
