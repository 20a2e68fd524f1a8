#include "inductor/schedule/group.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/visit.h"
#include "inductor/schedule/blocks.h"
#include "inductor/schedule/fuse.h"
#include "inductor/schedule/nest.h"
#include "inductor/schedule/occupancy.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;

constexpr size_t kNear = 8;            // groups back: where small kernels join that share nothing
constexpr int64_t kMuch = 256 * 1024;  // bytes of memory
constexpr size_t kMostBuffers = 48;    // of a kernel: more does not stay in registers and caches

// Buffers, sorted, each once.
struct Uses {
  std::vector<int> reads, writes;
};

Uses uses_of(const Stmt& stmt) { return {buffers_read(stmt), buffers_written(stmt)}; }

bool has(const std::vector<int>& sorted, int buffer) {
  return std::binary_search(sorted.begin(), sorted.end(), buffer);
}

bool meet(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(b.begin(), b.end(), [&](int x) { return has(a, x); });
}

std::vector<int> either(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> all;
  all.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

struct Group {
  std::vector<Stmt> body;  // one extern call, or loops
  Uses uses;
  std::vector<std::string> origins;
  bool is_extern = false;
  std::optional<int64_t> time;  // occupancy.h; none: not asked for yet

  bool has_use_of(int buffer) const { return has(uses.reads, buffer) || has(uses.writes, buffer); }
  void add_uses(const Uses& more) {
    uses = {either(uses.reads, more.reads), either(uses.writes, more.writes)};
  }
  // `origin`: names joined by ", ", as lowering and the passes leave them.
  void add_origins(const std::string& origin) {
    for (const std::string& name :
         std::vector<std::string>(absl::StrSplit(origin, ", ", absl::SkipEmpty())))
      if (std::find(origins.begin(), origins.end(), name) == origins.end()) origins.push_back(name);
  }
};

bool adds_by_place(const Stmt& stmt) {
  const auto* loop = std::get_if<Loop>(&stmt);
  return loop && adds_by_place(*loop);
}

// A single element, as a counter of steps.
bool is_lone(const Stmt& stmt) { return !std::holds_alternative<Loop>(stmt); }

bool must_follow(const Uses& later, const Uses& earlier) {
  return meet(earlier.writes, later.reads) || meet(earlier.writes, later.writes) ||
         meet(earlier.reads, later.writes);
}

class Grouper {
 public:
  Grouper(LoopProgram& program, const Features& features)
      : program_(program), features_(features) {}

  std::vector<FusionNote> run() {
    std::vector<Stmt> body = std::move(program_.body);
    const std::vector<std::string> origins = std::move(program_.origins);
    for (size_t i = 0; i < body.size(); ++i) {
      const std::string origin = i < origins.size() ? origins[i] : "";
      if (std::holds_alternative<ExternCall>(body[i])) {
        append(std::move(body[i]), origin).is_extern = true;
        continue;
      }
      for (LoopNest& nest : normalize(program_, {std::move(body[i]), origin}, features_))
        add(std::move(nest));
    }
    finish();
    return std::move(notes_);
  }

 private:
  Group& append(Stmt stmt, const std::string& origin) {
    Group& g = groups_.emplace_back();
    g.uses = uses_of(stmt);
    g.add_origins(origin);
    g.body.push_back(std::move(stmt));
    return g;
  }

  struct Candidate {
    size_t at;
    int64_t bytes;  // of the buffers that both use; twice, where one makes what the other reads
  };

  void add(LoopNest nest) {
    const Uses uses = uses_of(nest.stmt);
    std::vector<Candidate> candidates;
    for (size_t k = groups_.size(); k-- > 0;) {
      if (groups_[k].is_extern) continue;
      const int64_t bytes = shared_bytes(groups_[k], uses);
      const bool lone = is_lone(nest.stmt) && is_lone(groups_[k].body[0]);
      if (bytes > 0 || groups_.size() - k <= kNear || lone) candidates.push_back({k, bytes});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bytes > b.bytes; });
    std::vector<FusionNote> reasons;
    std::optional<int64_t> time;
    for (const Candidate& c : candidates) {
      const std::string reason = try_fuse(c, nest, uses, time);
      if (reason.empty()) return;
      if (c.bytes > 0)
        reasons.push_back({absl::StrJoin(groups_[c.at].origins, ", "), nest.origin, reason});
    }
    for (FusionNote& note : reasons) add_note(std::move(note));
    append(std::move(nest.stmt), nest.origin);
  }

  void add_note(FusionNote note) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
      notes_.push_back(std::move(note));
  }

  int64_t shared_bytes(const Group& g, const Uses& uses) const {
    int64_t bytes = 0;
    for (int b : either(uses.reads, uses.writes))
      if (g.has_use_of(b)) bytes += size_of(b) * (has(g.uses.writes, b) ? 2 : 1);
    return bytes;
  }

  int64_t size_of(int buffer) const {
    const TensorType& type = program_.buffers[buffer].type;
    return aten_bridge::element_count(type).constant().value_or(1) *
           aten_bridge::size_in_bytes(type.dtype);
  }

  // Empty when it was done. `nest_time`: of the nest alone, once it was asked for.
  std::string try_fuse(const Candidate& candidate, const LoopNest& nest, const Uses& uses,
                       std::optional<int64_t>& nest_time) {
    const size_t at = candidate.at;
    std::vector<size_t> first;
    if (!order_allows(at, uses, &first))
      return "something between needs the one and feeds the other";
    if (holds_much(at, first, uses))
      return "what the one reads would be held until extern calls have fed the other";
    std::vector<int> shared = either(uses.reads, uses.writes);
    std::erase_if(shared, [&](int b) { return !groups_[at].has_use_of(b); });
    if (groups_[at].uses.reads.size() + groups_[at].uses.writes.size() > kMostBuffers)
      return "too many buffers in one kernel";
    if (features_.has_lanes && (adds_by_place(nest.stmt) || adds_by_place(groups_[at].body[0])))
      return "sums by place run on their own";
    Fusion fusion = fuse(program_, groups_[at].body, nest.stmt, shared, features_);
    if (!fusion.verdict) return fusion.verdict.reason();
    Group& g = groups_[at];
    if (features_.has_lanes && !runs_at_memory_rate(fusion.body)) {
      if (!g.time) g.time = time(program_, g.body);
      if (!nest_time) nest_time = time(program_, {nest.stmt});
      const int64_t fused = time(program_, fusion.body);
      if (fused > *g.time + *nest_time + kLaunch + candidate.bytes)
        return "together they would keep too few threads busy";
      g.time = fused;
    } else {
      g.time.reset();
    }
    g.body = std::move(fusion.body);
    g.add_uses(uses);
    g.add_origins(nest.origin);
    move_before(at, first);
    return "";
  }

  // Whether the group at `at`, which gives the nest nothing, would keep its inputs until extern
  // calls have run.
  bool holds_much(size_t at, const std::vector<size_t>& first, const Uses& uses) const {
    const Uses& ours = groups_[at].uses;
    if (meet(ours.writes, uses.reads) ||
        std::none_of(first.begin(), first.end(), [&](size_t f) { return groups_[f].is_extern; }))
      return false;
    int64_t bytes = 0;
    for (int b : ours.reads) bytes += size_of(b);
    return bytes >= kMuch;
  }

  // Whether the nest can run together with the group at `at`; `first`: the groups behind it that
  // the nest needs, which must go before it.
  bool order_allows(size_t at, const Uses& uses, std::vector<size_t>* first) const {
    std::vector<Uses> needed{uses};
    for (size_t k = groups_.size(); --k > at;) {
      const Group& g = groups_[k];
      const bool is_needed = std::any_of(needed.begin(), needed.end(),
                                         [&](const Uses& u) { return must_follow(u, g.uses); });
      // Extern calls keep their order among themselves: they may draw random numbers.
      const bool keeps_order =
          g.is_extern &&
          std::any_of(first->begin(), first->end(), [&](size_t f) { return groups_[f].is_extern; });
      if (!is_needed && !keeps_order) continue;
      if (must_follow(g.uses, groups_[at].uses)) return false;
      needed.push_back(g.uses);
      first->push_back(k);
    }
    std::reverse(first->begin(), first->end());
    return true;
  }

  void move_before(size_t at, const std::vector<size_t>& first) {
    size_t to = at;
    for (size_t from : first) {
      std::rotate(groups_.begin() + static_cast<ptrdiff_t>(to),
                  groups_.begin() + static_cast<ptrdiff_t>(from),
                  groups_.begin() + static_cast<ptrdiff_t>(from) + 1);
      ++to;
    }
  }

  void finish() {
    for (Group& g : groups_) {
      if (g.is_extern) {
        program_.body.push_back(std::move(g.body[0]));
        program_.origins.push_back(absl::StrJoin(g.origins, ", "));
        continue;
      }
      program_.body.push_back(Kernel{"", std::move(g.body), std::move(g.origins)});
      program_.origins.push_back("");
    }
  }

  LoopProgram& program_;
  const Features& features_;
  std::vector<Group> groups_;
  std::vector<FusionNote> notes_;
};

}  // namespace

std::vector<FusionNote> group(LoopProgram& program, const Features& features) {
  return Grouper(program, features).run();
}

}  // namespace inductor
