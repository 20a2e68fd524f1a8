#include "inductor/schedule/blocks.h"

#include <algorithm>
#include <optional>

#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/chain.h"
#include "inductor/schedule/columns.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/device_size.h"
#include "inductor/schedule/lanes.h"

namespace inductor {
namespace {

constexpr int kFlatThreads = 256;
constexpr int kGroups = 8;          // warps of a block
constexpr int kGroupsOfPlace = 16;  // which add up the rows of one place: some have thousands

// Several iterations may scatter to one element.
bool may_collide(const Loop& loop) {
  return loop.kind == LoopKind::kReduction &&
         std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Stmt& s) { return std::holds_alternative<Scatter>(s); });
}

// Returns the longest extent of the vector loops; 0 when there is none.
SymExpr choose_lanes(std::vector<Stmt>& body) {
  SymExpr longest = 0;
  for (Stmt& stmt : body) {
    auto* loop = std::get_if<Loop>(&stmt);
    if (!loop) continue;
    SymExpr extent = 0;
    if (!is_innermost(*loop)) {
      extent = choose_lanes(loop->body);
    } else if (!may_collide(*loop)) {
      loop->vector = true;
      extent = loop->extent;
    }
    if (!extent.is_constant() ||
        (longest.is_constant() && extent.as_constant() > longest.as_constant()))
      longest = extent;
  }
  return longest;
}

// Of perfectly nested reductions that are not vectors: groups divide the outermost one. Two change
// places where no sum goes over one of them alone.
void longest_first(Loop& outermost) {
  const auto may_change = [&](const Loop& l) {
    bool may = true;
    for_each_leaf(l.body, [&](Loops, const Stmt& leaf) {
      const SymExpr& index = written_index(leaf);
      may &= !std::holds_alternative<Reduce>(leaf) ||
             index.mentions(outermost.var) == index.mentions(l.var);
    });
    return may;
  };
  Loop* longest = &outermost;
  for (Loop* l = &outermost; l && l->kind == LoopKind::kReduction && !l->vector;
       l = only_loop(l->body))
    if (trip_count(*l) > trip_count(*longest) && may_change(*l)) longest = l;
  std::swap(outermost.var, longest->var);
  std::swap(outermost.extent, longest->extent);
}

// Whether what the loop reduces can be kept by each group and combined at its end: single values,
// and rows that lanes hold in registers.
bool can_be_divided(const Loop& loop) {
  bool can = loop.kind == LoopKind::kReduction && !loop.vector;
  for_each_leaf(loop.body, [&](std::span<const Loop* const> inside, const Stmt& leaf) {
    can &= !std::holds_alternative<Scatter>(leaf);
    can &= !inside.empty() || std::holds_alternative<Store>(leaf);  // a store: each row's own
    for (const Loop* l : inside)
      if (l->vector) can &= lanes_for(l->extent) == kWarp;
    const auto* reduce = std::get_if<Reduce>(&leaf);
    if (!reduce || reduce->index.mentions(loop.var)) return;
    for (const Loop* l : inside) can &= l->vector || !reduce->index.mentions(l->var);
  });
  return can;
}

// Where warps are few, or have many rows each.
bool pays_to_divide(const Loop& rows, int64_t iterations) {
  constexpr int64_t kEnoughWarps = 2048, kManyWarps = 16 * 1024, kManyRows = 16;
  if (iterations >= kManyWarps) return false;
  return iterations < kEnoughWarps || trip_count(rows) >= kManyRows;
}

// Whether what stands behind the first loop needs of it what it reduces, not what it stores, and
// walks over rows at most: that is for one group, which has the sums.
bool needs_sums_only(std::span<const Stmt> body) {
  std::vector<int> stored;
  for_each_leaf(body.first(1), [&](Loops, const Stmt& leaf) {
    if (!std::holds_alternative<Reduce>(leaf)) stored.push_back(written_buffer(leaf));
  });
  return std::all_of(body.begin() + 1, body.end(), [&](const Stmt& stmt) {
    const auto* loop = std::get_if<Loop>(&stmt);
    if (loop && (!is_innermost(*loop) || lanes_for(loop->extent) > kWarp)) return false;
    const std::vector<int> reads = buffers_read(stmt);
    return std::none_of(stored.begin(), stored.end(),
                        [&](int b) { return std::binary_search(reads.begin(), reads.end(), b); });
  });
}

int lanes_of_one_block(const SymExpr& extent) {
  const int64_t n = extent.constant().value_or(kMostThreads);
  return static_cast<int>(
      std::clamp<int64_t>((n + kWarp - 1) / kWarp * kWarp, kWarp, kMostThreads));
}

}  // namespace

bool adds_by_place(const Loop& loop) {
  const Loop* row = loop.kind == LoopKind::kReduction ? only_loop(loop.body) : nullptr;
  if (!row || row->kind != LoopKind::kSerial || row->body.size() != 1) return false;
  const auto* scatter = std::get_if<Scatter>(&row->body[0]);
  return scatter && lanes_for(row->extent) == kWarp && row_fits_registers(row->extent) &&
         !mentions(scatter->symbol_values, row->var);
}

void spread_columns(LoopProgram& program, Kernel& kernel) {
  const Loop* inside = only_loop(kernel.body);
  while (inside && inside->kind == LoopKind::kSerial) inside = only_loop(inside->body);
  if (!inside || adds_by_place(*inside)) return;
  std::optional<Chain> chain = chain_of(kernel);
  if (!chain || chain->loops.back().kind != LoopKind::kSerial) return;
  const auto rows = std::find_if(chain->loops.begin(), chain->loops.end(),
                                 [](const Loop& l) { return l.kind == LoopKind::kReduction; });
  if (rows == chain->loops.end()) return;
  int64_t around = 1;
  for (auto l = chain->loops.begin(); l != rows; ++l) around *= trip_count(*l);
  const auto columns = chain->loops.back().extent.constant();
  const int64_t size = columns ? columns_of_block(*columns, around) : 0;
  if (!columns || *columns <= size) return;
  const auto at = rows - chain->loops.begin();
  Loop outer = strip(program, *chain, chain->loops.size() - 1, size);
  chain->loops.insert(chain->loops.begin() + at, std::move(outer));
  kernel.body = rebuild(*std::move(chain));
}

void choose_blocks(const LoopProgram& program, Kernel& kernel) {
  const SymExpr longest = choose_lanes(kernel.body);
  kernel.lanes = lanes_of_one_block(longest);
  Loop* last = nullptr;
  int64_t iterations = 1;
  for (Loop* l = only_loop(kernel.body); l && l->kind == LoopKind::kSerial;
       l = only_loop(l->body)) {
    l->parallel = true;
    iterations *= trip_count(*l);
    last = l;
  }
  if (last && last->vector) {  // each thread on its own
    kernel.lanes = kFlatThreads;
    return;
  }
  std::vector<Stmt>& body = last ? last->body : kernel.body;
  auto* inside = std::get_if<Loop>(&body[0]);
  if (inside) longest_first(*inside);
  if (inside && body.size() == 1 && adds_by_place(*inside)) {
    inside->parallel = true;
    kernel.lanes = kWarp;
    kernel.groups = kGroupsOfPlace;
    return;
  }
  if (inside && pays_to_divide(*inside, iterations) && can_be_divided(*inside) &&
      needs_sums_only(body)) {
    int threads = kWarp * kGroups;
    while (threads < kMostThreads && iterations * threads < kAllThreads) threads *= 2;
    const int64_t rows = trip_count(*inside);
    kernel.lanes = lanes_of_warp(program, kernel, iterations * rows);
    kernel.groups = threads_with_registers(program, kernel, threads) / kernel.lanes;
    while (kernel.groups > 1 && kernel.groups > rows) kernel.groups /= 2;
    inside->parallel = kernel.groups > 1;
    return;
  }
  if (!last) return;
  kernel.lanes = lanes_for(longest, iterations);
  if (kernel.lanes > kWarp) return;
  kernel.lanes = lanes_of_warp(program, kernel, iterations);
  kernel.groups = kGroups * kWarp / kernel.lanes;
  while (kernel.groups * kernel.lanes > kWarp && iterations / kernel.groups < kEnoughBlocks)
    kernel.groups /= 2;
}

}  // namespace inductor
