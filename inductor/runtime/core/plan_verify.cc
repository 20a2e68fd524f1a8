#include <algorithm>

#include "aten_bridge/base/str_cat.h"
#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {
namespace {

using aten_bridge::str_cat;

constexpr int kMostThreads = 1024;  // of a block, on any device
constexpr int kForever = std::numeric_limits<int>::max();

struct Broken {
  std::string message;
};

class Verifier {
 public:
  explicit Verifier(const KernelPlan& plan)
      : plan_(plan), alive_(plan.buffers.size(), false), uses_(plan.buffers.size()) {}

  void verify() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b)
      alive_[b] = plan_.buffers[b].storage == Storage::kArena;
    for (int b : plan_.inputs) {
      in_range(b);
      require(storage(b) == Storage::kInput, b, "is an input of another storage");
      alive_[b] = true;
    }
    for (const Step& step : plan_.steps) {
      std::visit([&](const auto& s) { check(s); }, step);
      ++step_;
    }
    for (const auto& output : plan_.outputs) {
      if (!output) continue;
      use(output->buffer);
      require(storage(output->buffer) != Storage::kArena, output->buffer,
              "is returned from the arena");
    }
    arena();
  }

 private:
  struct Uses {
    int first = kForever, last = -1;
  };

  Storage storage(int b) const { return plan_.buffers[b].storage; }
  void in_range(int b) const {
    if (b < 0 || b >= static_cast<int>(plan_.buffers.size()))
      throw Broken{str_cat("step ", step_, ": no buffer ", b)};
  }
  void require(bool condition, int b, std::string_view what) const {
    if (!condition) throw Broken{str_cat("step ", step_, ": ", plan_.buffers[b].name, " ", what)};
  }
  void use(int b) {
    in_range(b);
    require(alive_[b], b, "is used without memory");
    uses_[b].first = std::min(uses_[b].first, step_);
    uses_[b].last = step_;
  }

  void check(const Launch& launch) {
    for (int b : launch.buffers) use(b);
    for (int b : launch.values) {
      use(b);
      require(plan_.buffers[b].type.device.kind == Device::Kind::kCpu, b,
              "is passed by its contents, yet not the host's");
    }
    const auto [blocks, threads] = launch.shape;
    const auto count = blocks.constant();
    if (threads < 0 || threads > kMostThreads || (count && *count < 0) ||
        (threads == 0 && blocks != SymExpr(0)))
      throw Broken{str_cat("step ", step_, ": ", launch.kernel, " on ", blocks.str(), " blocks of ",
                           threads)};
  }
  void check(const ExternCall& call) {
    for (const auto& [name, argument] : call.args) {
      if (auto* ref = std::get_if<TensorRef>(&argument)) use(ref->buffer);
      if (auto* list = std::get_if<std::vector<std::optional<TensorRef>>>(&argument))
        for (const auto& ref : *list)
          if (ref) use(ref->buffer);
    }
    for (const auto& output : call.outputs) {
      if (!output) continue;
      in_range(*output);
      require(storage(*output) == Storage::kExtern, *output, "is an extern result elsewhere");
      require(!alive_[*output], *output, "is made twice");
      alive_[*output] = true;
    }
  }
  void check(const Allocate& a) {
    in_range(a.buffer);
    require(storage(a.buffer) == Storage::kOwned, a.buffer, "is allocated but not owned");
    require(!alive_[a.buffer], a.buffer, "is allocated twice");
    alive_[a.buffer] = true;
  }
  void check(const Release& r) {
    in_range(r.buffer);
    require(storage(r.buffer) != Storage::kArena, r.buffer, "is released from the arena");
    require(alive_[r.buffer], r.buffer, "is released without memory");
    alive_[r.buffer] = false;
  }

  // No two buffers of the arena share bytes while both are in use, and all lie inside.
  void arena() const {
    const auto total = plan_.arena_bytes.constant();
    struct Piece {
      int buffer;
      int64_t begin, end;
    };
    std::vector<Piece> pieces;
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      if (storage(b) != Storage::kArena) continue;
      const auto offset = plan_.buffers[b].offset.constant();
      const auto bytes = span_bytes(plan_.buffers[b].type);
      if (!offset || !bytes || !total) continue;  // symbolic: its solver's matter
      require(*offset >= 0 && *offset + *bytes <= *total, b, "is not inside the arena");
      for (const Piece& other : pieces) {
        const bool bytes_meet = other.begin < *offset + *bytes && *offset < other.end;
        const bool lives_meet = uses_[other.buffer].first <= uses_[b].last &&
                                uses_[b].first <= uses_[other.buffer].last;
        require(!(bytes_meet && lives_meet), b,
                str_cat("overlaps ", plan_.buffers[other.buffer].name));
      }
      pieces.push_back({b, *offset, *offset + *bytes});
    }
  }

  const KernelPlan& plan_;
  std::vector<bool> alive_;
  std::vector<Uses> uses_;
  int step_ = 0;
};

}  // namespace

std::optional<int64_t> span_bytes(const TensorType& type) {
  int64_t last = 0;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const auto size = type.sizes[d].constant(), stride = type.strides[d].constant();
    if (!size || !stride) return std::nullopt;
    if (*size == 0) return 0;
    last += (*size - 1) * *stride;
  }
  return (last + 1) * size_in_bytes(type.dtype);
}

absl::Status verify(const KernelPlan& plan) {
  try {
    Verifier(plan).verify();
  } catch (const Broken& broken) {
    return absl::InternalError(broken.message);
  }
  return absl::OkStatus();
}

}  // namespace inductor
