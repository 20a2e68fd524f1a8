// KernelPlan: what a compiled graph does on every call, as plain data. It prints, parses back and verifies; packages keep it.
//   plan 1 forward(arg0: f32[8, 128]) -> buf2 { ... }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inductor/ir/loop.h"

namespace inductor {

enum class Storage : uint8_t {
  kInput,   // given
  kArena,   // at `offset` of the one temporary allocation of a call
  kOwned,   // an allocation of its own: outputs and saved values
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

std::string print(const KernelPlan& plan);
absl::StatusOr<KernelPlan> parse_plan(std::string_view text);
absl::Status verify(const KernelPlan& plan);

}  // namespace inductor
