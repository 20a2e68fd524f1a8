// KernelPlan: what a compiled graph does on every call, as plain data. It prints, parses back and
// verifies; packages keep it.
//   plan 1 forward(arg0) -> buf2, none {
//     arg0: f32[8, 128] input
//     buf0: f32[8] arena 0
//     buf2: f32[8, 128] owned
//     arena 64
//     allocate buf2
//     launch softmax_7f3a91c2(arg0, buf0, buf2)
//     release arg0
//   }
// Sizes that a kernel takes follow its buffers after a semicolon. A kernel of a device with blocks
// of threads says how many: `launch softmax_7f3a91c2(arg0, buf2) on 4096 blocks of 256`. Buffers of
// the host whose contents are its last arguments are named so: `launch k(arg0, buf2) with buf1`.
//
// Law
//  - A buffer has its memory from its Allocate, the extern call that returns it or the start
//    (inputs, arena) until its Release or the end. Steps use buffers only while they have memory.
//  - Buffers of the arena whose bytes overlap are never both needed by a later step.
//  - What is returned is not in the arena and never released.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/ir/launch_shape.h"
#include "inductor/ir/loop.h"

namespace inductor {

enum class Storage : uint8_t {
  kInput,   // given
  kArena,   // at `offset` of the one temporary allocation of a call
  kOwned,   // an allocation of its own: outputs, saved values, large temporaries
  kExtern,  // made by the extern call that returns it
};

struct PlanBuffer {
  std::string name;
  TensorType type;
  Storage storage = Storage::kArena;
  SymExpr offset;  // bytes, kArena only
};

struct Launch {
  std::string kernel;
  std::vector<int> buffers;
  std::vector<SymExpr> sizes;
  LaunchShape shape;
  std::vector<int> values = {};  // passed by their contents, read when the launch is reached
};
struct Allocate {  // kOwned only
  int buffer;
};
struct Release {  // after its last use: kInput, kExtern and kOwned that is not returned
  int buffer;
};
using Step = std::variant<Launch, ExternCall, Allocate, Release>;

struct KernelPlan {
  std::string name;
  std::vector<PlanBuffer> buffers;
  std::vector<int> inputs;
  std::vector<std::optional<TensorRef>> outputs;
  std::vector<Step> steps;
  SymExpr arena_bytes;
  Device device;
};

// Bytes from a buffer's first element to its last, inclusive; none while sizes are symbols.
std::optional<int64_t> span_bytes(const TensorType& type);

std::string print(const KernelPlan& plan);
absl::StatusOr<KernelPlan> parse_plan(std::string_view text);
absl::Status verify(const KernelPlan& plan);

}  // namespace inductor
