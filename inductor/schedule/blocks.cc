#include "inductor/schedule/blocks.h"

#include <algorithm>

#include "inductor/ir/visit.h"
#include "inductor/schedule/chain.h"
#include "inductor/schedule/cost.h"

namespace inductor {
namespace {

constexpr int kWarp = 32;
constexpr int kMostLanes = 1024;
constexpr int kFlatThreads = 256;
constexpr int kGroups = 8;              // warps of a block
constexpr int kGroupsOfPlace = 16;      // which add up the rows of one place: some have thousands
constexpr int kMostGroups = 32;         // where blocks are few
constexpr int64_t kEnoughBlocks = 256;  // two for each processor of a large GPU

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

// Whether what the loop reduces can be kept by each group and combined at its end: single values,
// and rows that lanes hold in registers.
bool can_be_divided(const Loop& loop) {
  bool can = loop.kind == LoopKind::kReduction && !loop.vector;
  for_each_leaf(loop.body, [&](std::span<const Loop* const> inside, const Stmt& leaf) {
    can &= !std::holds_alternative<Scatter>(leaf) && !inside.empty();
    for (const Loop* l : inside)
      if (l->vector) can &= lanes_for(l->extent) == kWarp;
    const auto* reduce = std::get_if<Reduce>(&leaf);
    if (!reduce || reduce->index.mentions(loop.var)) return;
    for (const Loop* l : inside) can &= l->vector || !reduce->index.mentions(l->var);
  });
  return can;
}

int lanes_of_one_block(const SymExpr& extent) {
  const int64_t n = extent.constant().value_or(kMostLanes);
  return static_cast<int>(std::clamp<int64_t>((n + kWarp - 1) / kWarp * kWarp, kWarp, kMostLanes));
}

}  // namespace

int lanes_for(const SymExpr& extent) {
  int64_t lanes = kWarp;
  const int64_t n = extent.constant().value_or(kRowOfLane * kMostLanes);
  if (n > kWarp * kRowOfLane) lanes = 256;
  if (n > 256 * kRowOfLane) lanes = kMostLanes;
  return static_cast<int>(lanes);
}

bool row_fits_registers(const SymExpr& extent) {
  const auto n = extent.constant();
  return n && *n <= kRowOfLane * lanes_for(extent);
}

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
  int64_t blocks = trip_count(chain->loops.back());
  for (auto l = chain->loops.begin(); l != rows; ++l) blocks *= trip_count(*l);
  int64_t size = kGroups * kWarp;  // columns of a block: wide accesses where blocks are many
  const auto fits = [&](int64_t s) {
    return chain->loops.back().extent.constant().value_or(1) % s == 0;
  };
  while (size > kWarp && (!fits(size) || blocks / size < kEnoughBlocks)) size /= 2;
  if (!fits(size) || chain->loops.back().extent.as_constant() <= size) return;
  const auto at = rows - chain->loops.begin();
  Loop outer = strip(program, *chain, chain->loops.size() - 1, size);
  chain->loops.insert(chain->loops.begin() + at, std::move(outer));
  kernel.body = rebuild(*std::move(chain));
}

void choose_blocks(Kernel& kernel) {
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
  Loop* inside = only_loop(last ? last->body : kernel.body);
  if (inside && adds_by_place(*inside)) {
    inside->parallel = true;
    kernel.lanes = kWarp;
    kernel.groups = kGroupsOfPlace;
    return;
  }
  if (inside && can_be_divided(*inside)) {
    kernel.lanes = kWarp;
    kernel.groups = iterations < kEnoughBlocks ? kMostGroups : kGroups;
    while (kernel.groups > 1 && kernel.groups > trip_count(*inside)) kernel.groups /= 2;
    inside->parallel = kernel.groups > 1;
    return;
  }
  if (!last) return;
  kernel.lanes = lanes_for(longest);
  if (kernel.lanes > kWarp) return;
  kernel.groups = kGroups;
  while (kernel.groups > 1 && iterations / kernel.groups < kEnoughBlocks) kernel.groups /= 2;
}

}  // namespace inductor
