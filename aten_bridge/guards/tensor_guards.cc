#include "aten_bridge/guards/tensor_guards.h"

#include <algorithm>

#include "aten_bridge/base/check.h"
#include "aten_bridge/guards/guard_kinds.h"

namespace aten_bridge {
namespace {

// The records: one member a row.
struct Globals {
#define GLOBAL_GUARD(kind, what) kinds::kind::Value kind = kinds::kind::read();
#include "aten_bridge/guards/guard_kinds.def"
};

struct OneTensor {
  OneTensor(const at::Tensor& t, bool is_state, bool is_fixed)
      : is_state(is_state),
        is_fixed(is_fixed)
#define TENSOR_GUARD(kind, what) , kind(kinds::kind::read(t))
#define GEOMETRY_GUARD(kind, what) , kind(is_fixed ? kinds::kind::read(t) : kinds::kind::Value())
#define STATE_GUARD(kind, what) , kind(is_state ? kinds::kind::read(t) : kinds::kind::Value())
#define HANDLE_GUARD(kind, what) STATE_GUARD(kind, what)
#include "aten_bridge/guards/guard_kinds.def"
  {
  }
  bool is_state, is_fixed;
#define TENSOR_GUARD(kind, what) kinds::kind::Value kind;
#define GEOMETRY_GUARD(kind, what) kinds::kind::Value kind;
#define STATE_GUARD(kind, what) kinds::kind::Value kind;
#define HANDLE_GUARD(kind, what) kinds::kind::Value kind;
#include "aten_bridge/guards/guard_kinds.def"

  bool holds(const at::Tensor& t, bool with_handles) const noexcept {
#define TENSOR_GUARD(kind, what) \
  if (!kinds::kind::holds(kind, t)) return false;
#define GEOMETRY_GUARD(kind, what) \
  if (is_fixed && !kinds::kind::holds(kind, t)) return false;
#define STATE_GUARD(kind, what) \
  if (is_state && !kinds::kind::holds(kind, t)) return false;
#define HANDLE_GUARD(kind, what) \
  if (with_handles && is_state && !kinds::kind::holds(kind, t)) return false;
#include "aten_bridge/guards/guard_kinds.def"
    return true;
  }

  // Whether both hold of the same tensors.
  friend bool operator==(const OneTensor&, const OneTensor&) = default;

  // The first difference, empty when there is none.
  std::string difference(const at::Tensor& t) const {
#define TENSOR_GUARD(kind, what) \
  if (!kinds::kind::holds(kind, t)) return kinds::kind::difference(what, kind, t);
#define GEOMETRY_GUARD(kind, what) \
  if (is_fixed && !kinds::kind::holds(kind, t)) return kinds::kind::difference(what, kind, t);
#define STATE_GUARD(kind, what) \
  if (is_state && !kinds::kind::holds(kind, t)) return kinds::kind::difference(what, kind, t);
#define HANDLE_GUARD(kind, what) STATE_GUARD(kind, what)
#include "aten_bridge/guards/guard_kinds.def"
    return "";
  }
};

constexpr std::string_view kKinds[] = {
#define GLOBAL_GUARD(kind, what) #kind,
#define TENSOR_GUARD(kind, what) #kind,
#define GEOMETRY_GUARD(kind, what) #kind,
#define STATE_GUARD(kind, what) #kind,
#define HANDLE_GUARD(kind, what) #kind,
#define SET_GUARD(kind, what) #kind,
#include "aten_bridge/guards/guard_kinds.def"
};

}  // namespace

struct InputGuards::State {
  Globals globals;
  std::vector<std::string> names;
  std::vector<OneTensor> records;  // those that differ: a model's layers are alike
  std::vector<int> record_of;      // a tensor's
#define SET_GUARD(kind, what) kinds::kind::Value kind;
#include "aten_bridge/guards/guard_kinds.def"

  const OneTensor& record(size_t tensor) const { return records[record_of[tensor]]; }
  // From the latest on: what is alike was recorded lately.
  void add(OneTensor made) {
    constexpr size_t kNearby = 16;
    const size_t first = records.size() - std::min(records.size(), kNearby);
    size_t at = records.size();
    while (at > first && !(records[at - 1] == made)) --at;
    record_of.push_back(static_cast<int>(at > first ? at - 1 : records.size()));
    if (at == first) records.push_back(std::move(made));
  }
};

InputGuards::InputGuards() : state_(std::make_unique<State>()) {}
InputGuards::InputGuards(InputGuards&&) noexcept = default;
InputGuards& InputGuards::operator=(InputGuards&&) noexcept = default;
InputGuards::~InputGuards() = default;

InputGuards InputGuards::record(std::span<const at::Tensor> tensors,
                                std::span<const std::string> names, size_t first_state,
                                const std::vector<bool>& has_any_sizes) {
  TD_CHECK(tensors.size() == names.size(), "one name a tensor");
  InputGuards guards;
  State& state = *guards.state_;
  state.names.assign(names.begin(), names.end());
  state.record_of.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TD_CHECK(tensors[i].defined(), names[i], " is undefined");
    state.add({tensors[i], /*is_state=*/i >= first_state,
               /*is_fixed=*/has_any_sizes.empty() || !has_any_sizes[i]});
  }
#define SET_GUARD(kind, what) state.kind = kinds::kind::read(tensors);
#include "aten_bridge/guards/guard_kinds.def"
  return guards;
}

namespace {
const at::Tensor& tensor_of(const at::Tensor& tensor) { return tensor; }
const at::Tensor& tensor_of(const at::Tensor* tensor) { return *tensor; }
}  // namespace

template <class Tensors>
bool InputGuards::hold(Tensors tensors, bool with_handles) const noexcept {
  const State& state = *state_;
#define GLOBAL_GUARD(kind, what) \
  if (!kinds::kind::holds(state.globals.kind)) return false;
#include "aten_bridge/guards/guard_kinds.def"
  if (tensors.size() != state.record_of.size()) return false;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!state.record(i).holds(tensor_of(tensors[i]), with_handles)) return false;
#define SET_GUARD(kind, what) \
  if (!kinds::kind::holds(state.kind, tensors)) return false;
#include "aten_bridge/guards/guard_kinds.def"
  return true;
}

bool InputGuards::check(std::span<const at::Tensor> tensors, bool with_handles) const noexcept {
  return hold(tensors, with_handles);
}

bool InputGuards::check(std::span<const at::Tensor* const> tensors) const noexcept {
  return hold(tensors, /*with_handles=*/true);
}

std::string InputGuards::explain_failure(std::span<const at::Tensor> tensors) const {
  const State& state = *state_;
#define GLOBAL_GUARD(kind, what)                                                        \
  if (!kinds::kind::holds(state.globals.kind))                                          \
    return absl::StrCat(what, " is ", kinds::kind::text(kinds::kind::read()), ", was ", \
                        kinds::kind::text(state.globals.kind));
#include "aten_bridge/guards/guard_kinds.def"
  if (tensors.size() != state.record_of.size())
    return absl::StrCat(tensors.size(), " input tensors, were ", state.record_of.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (auto difference = state.record(i).difference(tensors[i]); !difference.empty())
      return absl::StrCat(state.names[i], ": ", difference);
#define SET_GUARD(kind, what)                                                                     \
  if (!kinds::kind::holds(state.kind, tensors))                                                   \
    return absl::StrCat(what, " is ", kinds::kind::text(kinds::kind::read(tensors), state.names), \
                        ", was ", kinds::kind::text(state.kind, state.names));
#include "aten_bridge/guards/guard_kinds.def"
  return "";
}

std::vector<std::string> InputGuards::describe() const {
  const State& state = *state_;
  std::vector<std::string> lines;
#define GLOBAL_GUARD(kind, what) \
  lines.push_back(absl::StrCat(what, ": ", kinds::kind::text(state.globals.kind)));
#include "aten_bridge/guards/guard_kinds.def"
  for (size_t i = 0; i < state.record_of.size(); ++i) {
    const OneTensor& record = state.record(i);
    const std::string& name = state.names[i];
#define TENSOR_GUARD(kind, what) \
  lines.push_back(absl::StrCat(name, ": ", what, ": ", kinds::kind::text(record.kind)));
#define GEOMETRY_GUARD(kind, what) \
  if (record.is_fixed)             \
    lines.push_back(absl::StrCat(name, ": ", what, ": ", kinds::kind::text(record.kind)));
#define STATE_GUARD(kind, what) \
  if (record.is_state)          \
    lines.push_back(absl::StrCat(name, ": ", what, ": ", kinds::kind::text(record.kind)));
#define HANDLE_GUARD(kind, what) STATE_GUARD(kind, what)
#include "aten_bridge/guards/guard_kinds.def"
  }
#define SET_GUARD(kind, what) \
  lines.push_back(absl::StrCat(what, ": ", kinds::kind::text(state.kind, state.names)));
#include "aten_bridge/guards/guard_kinds.def"
  return lines;
}

std::span<const std::string_view> guard_kinds() { return kKinds; }

}  // namespace aten_bridge
