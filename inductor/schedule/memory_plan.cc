#include "inductor/schedule/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "aten_bridge/base/check.h"

namespace inductor {
namespace {

int64_t align_up(int64_t n, int64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

template <class Visit>
void for_each_tensor(const aten_bridge::ArgumentOf<TensorRef>& argument, const Visit& visit) {
  if (auto* ref = std::get_if<TensorRef>(&argument)) visit(*ref);
  if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&argument))
    for (const auto& ref : *list)
      if (ref) visit(*ref);
}

constexpr int kNever = -1;

struct Life {
  int first = kNever, last = kNever;  // statements of the program
  bool returned = false;
  bool from_extern = false;
  bool used() const { return first != kNever; }
  void touch(int step) {
    if (first == kNever) first = step;
    last = step;
  }
};

class Planner {
 public:
  Planner(const LoopProgram& program, std::span<const EmittedKernel> kernels,
          const MemoryOptions& options)
      : program_(program), kernels_(kernels), options_(options), lives_(program.buffers.size()) {}

  KernelPlan plan() {
    find_lives();
    declare_buffers();
    place_arena();
    write_steps();
    return std::move(plan_);
  }

 private:
  void find_lives() {
    int step = 0;
    size_t kernel = 0;
    for (const Stmt& stmt : program_.body) {
      if (std::holds_alternative<Kernel>(stmt)) {
        TD_CHECK(kernel < kernels_.size(), "kernel without text in ", program_.name);
        for (int b : kernels_[kernel].buffers) lives_[b].touch(step);
        for (int b : kernels_[kernel].values) lives_[b].touch(step);
        ++kernel;
      } else {
        auto* call = std::get_if<ExternCall>(&stmt);
        TD_CHECK(call, "statement outside a kernel in ", program_.name);
        for (const auto& [name, argument] : call->args)
          for_each_tensor(argument, [&](const TensorRef& ref) { lives_[ref.buffer].touch(step); });
        for (auto output : call->outputs) {
          if (!output) continue;
          lives_[*output].touch(step);
          lives_[*output].from_extern = true;
        }
      }
      ++step;
    }
    TD_CHECK(kernel == kernels_.size(), "text without kernel in ", program_.name);
    for (const auto& output : program_.outputs)
      if (output) lives_[output->buffer].returned = true;
  }

  bool is_input(int buffer) const { return program_.buffers[buffer].role == BufferRole::kInput; }

  Storage storage_of(int buffer) const {
    if (is_input(buffer)) return Storage::kInput;
    const Life& life = lives_[buffer];
    if (life.from_extern) return Storage::kExtern;
    auto bytes = span_bytes(program_.buffers[buffer].type);
    const bool small = bytes && *bytes < options_.own_bytes;
    return small && !life.returned ? Storage::kArena : Storage::kOwned;
  }

  // The plan knows inputs, what is returned and what some step mentions; locals of kernels are not
  // in it.
  void declare_buffers() {
    plan_.name = program_.name;
    index_.assign(program_.buffers.size(), -1);
    for (int b = 0; b < static_cast<int>(program_.buffers.size()); ++b) {
      if (!is_input(b) && !lives_[b].used()) {
        TD_CHECK(!lives_[b].returned, program_.buffers[b].name, " is returned but never written");
        continue;
      }
      const Buffer& buffer = program_.buffers[b];
      TD_CHECK(buffer.role != BufferRole::kLocal, buffer.name, " is local but leaves its kernel");
      index_[b] = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back({buffer.name, buffer.type, storage_of(b), 0});
    }
    for (int input : program_.inputs) plan_.inputs.push_back(index_[input]);
    for (const auto& output : program_.outputs) plan_.outputs.push_back(translated(output));
    if (!plan_.buffers.empty()) plan_.device = plan_.buffers[0].type.device;
  }

  std::optional<TensorRef> translated(std::optional<TensorRef> ref) const {
    if (ref) ref->buffer = index_[ref->buffer];
    return ref;
  }

  void place_arena() {
    std::vector<int> members;
    std::vector<Interval> intervals;
    for (int b = 0; b < static_cast<int>(program_.buffers.size()); ++b) {
      if (index_[b] < 0 || storage_of(b) != Storage::kArena) continue;
      members.push_back(b);
      intervals.push_back({*span_bytes(program_.buffers[b].type), lives_[b].first, lives_[b].last});
    }
    Arena arena = place(intervals, options_.alignment);
    for (size_t i = 0; i < members.size(); ++i)
      plan_.buffers[index_[members[i]]].offset = arena.offsets[i];
    plan_.arena_bytes = arena.bytes;
  }

  void write_steps() {
    const int count = static_cast<int>(program_.body.size());
    std::vector<std::vector<int>> allocated(count), released(count);
    for (int b = 0; b < static_cast<int>(program_.buffers.size()); ++b) {
      const Life& life = lives_[b];
      if (index_[b] < 0) continue;
      const Storage storage = storage_of(b);
      if (storage == Storage::kOwned) allocated[life.first].push_back(index_[b]);
      if (storage == Storage::kArena || life.returned) continue;
      if (life.used())
        released[life.last].push_back(index_[b]);
      else
        plan_.steps.emplace_back(Release{index_[b]});  // an input that nothing reads
    }
    size_t kernel = 0;
    for (int step = 0; step < count; ++step) {
      for (int b : allocated[step]) plan_.steps.emplace_back(Allocate{b});
      if (auto* call = std::get_if<ExternCall>(&program_.body[step]))
        plan_.steps.emplace_back(translated(*call));
      else
        plan_.steps.emplace_back(launch(kernels_[kernel++]));
      for (int b : released[step]) plan_.steps.emplace_back(Release{b});
    }
  }

  Launch launch(const EmittedKernel& kernel) const {
    Launch launch{kernel.name, {}, kernel.sizes, kernel.shape};
    for (int b : kernel.buffers) launch.buffers.push_back(index_[b]);
    for (int b : kernel.values) launch.values.push_back(index_[b]);
    return launch;
  }

  ExternCall translated(ExternCall call) const {
    for (auto& [name, argument] : call.args) {
      if (auto* ref = std::get_if<TensorRef>(&argument)) ref->buffer = index_[ref->buffer];
      if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&argument))
        for (auto& ref : *list) ref = translated(ref);
    }
    for (auto& output : call.outputs)
      if (output) output = index_[*output];
    return call;
  }

  const LoopProgram& program_;
  std::span<const EmittedKernel> kernels_;
  const MemoryOptions& options_;
  std::vector<Life> lives_;  // one a buffer of the program
  std::vector<int> index_;   // buffer of the program -> buffer of the plan; -1: not in the plan
  KernelPlan plan_;
};

template <class Key>
std::vector<size_t> sorted_by(size_t count, const Key& key) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

// Each interval in turn goes into the tightest gap between those alive with it, else behind them.
Arena place_in_order(std::span<const Interval> intervals, const std::vector<size_t>& order,
                     int64_t alignment) {
  Arena arena{std::vector<int64_t>(intervals.size(), 0), 0};
  std::vector<size_t> placed;  // by offset
  const auto by_offset = [&](size_t a, size_t b) { return arena.offsets[a] < arena.offsets[b]; };
  for (size_t i : order) {
    const Interval& wanted = intervals[i];
    const int64_t bytes = align_up(wanted.bytes, alignment);
    int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max(), end = 0;
    for (size_t j : placed) {
      const Interval& other = intervals[j];
      if (other.last < wanted.first || wanted.last < other.first) continue;
      const int64_t gap = arena.offsets[j] - end;
      if (gap >= bytes && gap < best_gap) best = end, best_gap = gap;
      end = std::max(end, arena.offsets[j] + align_up(other.bytes, alignment));
    }
    arena.offsets[i] = best >= 0 ? best : end;
    arena.bytes = std::max(arena.bytes, arena.offsets[i] + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, by_offset), i);
  }
  return arena;
}

}  // namespace

Arena place(std::span<const Interval> intervals, int64_t alignment) {
  // No order is best for every program; these are cheap, so all are tried and the smallest arena
  // wins.
  const auto size = [&](size_t i) { return -intervals[i].bytes; };
  const auto life = [&](size_t i) { return intervals[i].first - intervals[i].last; };
  const auto start = [&](size_t i) { return intervals[i].first; };
  Arena best = place_in_order(intervals, sorted_by(intervals.size(), size), alignment);
  for (auto& order : {sorted_by(intervals.size(), life), sorted_by(intervals.size(), start)}) {
    Arena arena = place_in_order(intervals, order, alignment);
    if (arena.bytes < best.bytes) best = std::move(arena);
  }
  return best;
}

KernelPlan plan_memory(const LoopProgram& program, std::span<const EmittedKernel> kernels,
                       const MemoryOptions& options) {
  return Planner(program, kernels, options).plan();
}

}  // namespace inductor
