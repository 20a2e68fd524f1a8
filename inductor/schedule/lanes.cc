#include "inductor/schedule/lanes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "inductor/ir/value_bounds.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/access.h"
#include "inductor/schedule/device_size.h"
#include "inductor/schedule/lane_map.h"

namespace inductor {
namespace {

constexpr int kGoodAccess = 8;          // bytes of a lane's access
constexpr int64_t kMostRegisters = 48;  // for parts of rows, where lanes are few
constexpr int64_t kOwnRegisters = 40;   // of a thread, besides rows

// How long lanes take over the elements of a vector loop, in elements: more where some are idle,
// where accesses are narrow, or where lanes read far from each other.
double time_of(const LoopProgram& program, const VectorLoop& v, const LaneMap& map, int lanes) {
  const Loop& loop = *v.loop;
  const double extent = static_cast<double>(loop.extent.as_constant());
  const double steps = static_cast<double>(*map.chunks * map.width * lanes);
  int64_t narrowest = 0, walked = 0;  // bytes of an element
  bool leaps = false;
  for (const Access& a : v.accesses) {
    const int64_t bytes = aten_bridge::size_in_bytes(program.buffers[a.buffer].type.dtype);
    if (a.index.coefficient(loop.var) != 1) {
      leaps |= a.index.mentions(loop.var);
      continue;
    }
    narrowest = walked == 0 ? bytes : std::min(narrowest, bytes);
    walked = std::max(walked, bytes);
  }
  if (walked == 0) return leaps ? steps * lanes : steps;
  const double access = static_cast<double>(narrowest * map.width);
  const double narrow = std::max(1.0, kGoodAccess / access);
  const double together = std::min<double>(kSector, static_cast<double>(walked) * extent);
  const double apart = std::max(1.0, together / static_cast<double>(walked * map.width * lanes));
  return steps * std::sqrt(narrow) * apart;
}

// Registers in which a lane keeps its parts of rows: of sums, and of what several loops read.
int64_t registers_of_rows(const LoopProgram& program, const Kernel& kernel, const LaneMaps& maps) {
  std::map<int, int64_t> of_buffer;
  for_each_leaf(kernel.body, [&](Loops around, const Stmt& leaf) {
    if (around.empty() || !around.back()->vector || std::holds_alternative<Scatter>(leaf)) return;
    const int b = written_buffer(leaf);
    const bool kept = std::holds_alternative<Reduce>(leaf)
                          ? written_index(leaf).mentions(around.back()->var)
                          : program.buffers[b].role == BufferRole::kLocal;
    const LaneMap& map = maps.at(around.back()->extent);
    if (kept) of_buffer[b] = map.chunks.value_or(1) * map.width;
  });
  int64_t count = 0;
  for (const auto& entry : of_buffer) count += entry.second;
  return count;
}

// None where a lane would have too much.
std::optional<double> time_with(const LoopProgram& program, const Kernel& kernel,
                                const VectorLoops& loops, int lanes) {
  const LaneMaps maps = lane_maps(loops, lanes);
  if (registers_of_rows(program, kernel, maps) > kMostRegisters) return std::nullopt;
  double time = 0;
  for (const VectorLoop& v : loops) {
    const LaneMap& map = maps.at(v.loop->extent);
    if (!map.chunks || *map.chunks * map.width > kRowOfLane) return std::nullopt;
    time += time_of(program, v, map, lanes) * static_cast<double>(v.loop->body.size());
  }
  return time;
}

}  // namespace

int lanes_for(const SymExpr& extent) {
  int64_t lanes = kWarp;
  const int64_t n = extent.constant().value_or(kRowOfLane * kMostThreads);
  if (n > kWarp * kRowOfLane) lanes = 256;
  if (n > 256 * kRowOfLane) lanes = kMostThreads;
  return static_cast<int>(lanes);
}

int lanes_for(const SymExpr& extent, int64_t rows) {
  constexpr int kMostOfFewRows = 256, kLeast = 4;  // threads; elements of one
  int lanes = lanes_for(extent);
  const int64_t n = extent.constant().value_or(0);
  while (2 * lanes <= kMostOfFewRows && rows * lanes < kBusyThreads && n >= 2 * lanes * kLeast)
    lanes *= 2;
  return lanes;
}

bool row_fits_registers(const SymExpr& extent) {
  const auto n = extent.constant();
  return n && *n <= kRowOfLane * lanes_for(extent);
}

int lanes_of_warp(const LoopProgram& program, const Kernel& kernel, int64_t groups) {
  constexpr double kAsGood = 1.05;
  const VectorLoops loops = vector_loops(program, kernel);
  int best = kWarp;
  std::optional<double> least = time_with(program, kernel, loops, kWarp);
  for (int lanes = kWarp / 2; least && lanes > 0 && groups * lanes >= kBusyThreads / 2;
       lanes /= 2) {
    const std::optional<double> time = time_with(program, kernel, loops, lanes);
    if (!time) break;
    if (*time * kAsGood >= *least) continue;
    best = lanes;
    least = time;
  }
  return best;
}

bool keeps_registers(const LoopProgram& program, const Kernel& kernel) {
  if (kernel.lanes <= kWarp) return true;
  const int64_t sums = registers_of_rows(program, kernel, lane_maps(program, kernel));
  return sums == 0 || kernel.lanes * (kOwnRegisters + 2 * sums) <= kRegistersOfBlocks;
}

int threads_with_registers(const LoopProgram& program, const Kernel& kernel, int threads) {
  const int64_t each =
      kOwnRegisters + registers_of_rows(program, kernel, lane_maps(program, kernel));
  while (threads > 256 && threads * each > kRegistersOfBlocks) threads /= 2;
  return threads;
}

}  // namespace inductor
