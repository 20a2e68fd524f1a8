#include "inductor/schedule/occupancy.h"

#include <algorithm>

#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/blocks.h"
#include "inductor/schedule/columns.h"
#include "inductor/schedule/cost.h"
#include "inductor/schedule/device_size.h"
#include "inductor/schedule/lanes.h"
#include "inductor/schedule/nest.h"

namespace inductor {
namespace {

constexpr int64_t kSpilled = 2;       // times longer: registers go to memory and come back
constexpr int64_t kStep = 64 * 1024;  // what one thread's next iteration costs, as bytes of all

// Of all iterations of the loops around. What does not change along a loop is read once.
int64_t bytes_moved(const LoopProgram& program, Loops around, const Stmt& leaf) {
  int64_t bytes = 0;
  for (const Access& a : accesses_of_leaf(leaf, around)) {
    int64_t count = aten_bridge::size_in_bytes(program.buffers[a.buffer].type.dtype);
    for (const Loop* l : around)
      if (a.index.mentions(l->var)) count *= trip_count(*l);
    bytes += count;
  }
  return bytes;
}

// Accesses of memory that a lane begins before it needs the first: a row that several loops of one
// body walk over is read at once. Where groups are warps there are enough of them without.
int64_t accesses_at_once(const Kernel& kernel, Loops around) {
  constexpr int64_t kOfAnAccess = 4, kMost = 4;  // elements of the least wide one; accesses
  if (kernel.lanes <= kWarp || around.size() < 2) return 1;
  const Loop& row = *around.back();
  const std::vector<Stmt>& beside = around[around.size() - 2]->body;
  const auto walks = std::count_if(beside.begin(), beside.end(), [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s);
    return loop && loop->vector && loop->extent == row.extent;
  });
  if (walks < 2 || !row_fits_registers(row.extent)) return 1;
  return std::clamp<int64_t>(trip_count(row) / (kernel.lanes * kOfAnAccess), 1, kMost);
}

// Those that work on a statement at the same time, each as often as it has accesses under way. What
// all lanes of a group do alike counts for each: it is done beside what they do apart.
int64_t threads_of(const Kernel& kernel, Loops around) {
  int64_t threads = around.empty() || !around.back()->vector ? kernel.lanes : 1;
  for (const Loop* l : around) {
    if (l->parallel && l->kind == LoopKind::kReduction) {
      threads *= std::min<int64_t>(kernel.groups, trip_count(*l));
    } else if (l->parallel) {
      threads *= trip_count(*l);
    } else if (l->vector) {
      threads *= std::min<int64_t>(kernel.lanes, trip_count(*l)) * accesses_at_once(kernel, around);
    }
  }
  return threads;
}

// Iterations that a thread runs one after another.
int64_t steps_of(const Kernel& kernel, Loops around) {
  int64_t steps = 1;
  for (const Loop* l : around) {
    const int64_t count = trip_count(*l);
    if (l->vector)
      steps *= l->parallel ? 1 : (count + kernel.lanes - 1) / kernel.lanes;
    else if (l->parallel)
      steps *= l->kind == LoopKind::kReduction ? (count + kernel.groups - 1) / kernel.groups : 1;
    else
      steps *= count;
  }
  return steps;
}

}  // namespace

bool runs_at_memory_rate(const std::vector<Stmt>& body) {
  int64_t elements = 1;
  const std::vector<Stmt>* inside = &body;
  for (const Loop* l = only_loop(body); l && l->kind == LoopKind::kSerial; l = only_loop(l->body)) {
    elements *= l->extent.constant().value_or(0);
    inside = &l->body;
  }
  return elements >= kBusyThreads &&
         std::none_of(inside->begin(), inside->end(),
                      [](const Stmt& s) { return std::holds_alternative<Loop>(s); });
}

int64_t time(LoopProgram& program, const std::vector<Stmt>& body) {
  const auto next_var = program.next_var;  // what is made here is thrown away
  Kernel kernel{"", body, {}};
  for (Stmt& stmt : kernel.body) collapse(program, stmt);
  spread_common_columns(program, kernel);
  spread_columns(program, kernel);
  choose_blocks(program, kernel);
  const int64_t spilled = keeps_registers(program, kernel) ? 1 : kSpilled;
  int64_t time = 0;
  for_each_leaf(kernel.body, [&](Loops around, const Stmt& leaf) {
    const int64_t threads = std::max<int64_t>(1, threads_of(kernel, around));
    const int64_t bytes = spilled * bytes_moved(program, around, leaf);
    time += std::max(threads < kBusyThreads ? bytes * kBusyThreads / threads : bytes,
                     steps_of(kernel, around) * kStep);
  });
  program.next_var = next_var;
  return time;
}

}  // namespace inductor
