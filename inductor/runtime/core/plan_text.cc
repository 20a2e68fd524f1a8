#include <array>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/graph/text.h"
#include "inductor/ir/call_text.h"
#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {
namespace {

using aten_bridge::join;
using aten_bridge::str_append;
using aten_bridge::str_cat;

constexpr std::string_view kVersion = "1";
constexpr std::array<std::string_view, 4> kStorageNames = {"input", "arena", "owned", "extern"};

BufferNames names_of(const KernelPlan& plan) {
  return [&plan](int buffer) {
    const PlanBuffer& b = plan.buffers[buffer];
    return NamedBuffer{b.name, &b.type};
  };
}

struct StepPrinter {
  const KernelPlan& plan;

  std::string name(int buffer) const { return plan.buffers[buffer].name; }
  std::string operator()(const Launch& s) const {
    std::string text =
        str_cat("launch ", s.kernel, "(", join(s.buffers, [&](int b) { return name(b); }));
    if (!s.sizes.empty())
      str_append(&text, "; ", join(s.sizes, [](const SymExpr& e) { return e.str(); }));
    text += ")";
    if (!s.values.empty())
      str_append(&text, " with ", join(s.values, [&](int b) { return name(b); }));
    if (s.shape.threads > 0)
      str_append(&text, " on ", s.shape.blocks.str(), " blocks of ", s.shape.threads);
    return text;
  }
  std::string operator()(const ExternCall& s) const {
    return str_cat("call ", print(s, names_of(plan)));
  }
  std::string operator()(const Allocate& s) const { return "allocate " + name(s.buffer); }
  std::string operator()(const Release& s) const { return "release " + name(s.buffer); }
};

class PlanParser {
 public:
  explicit PlanParser(std::string_view text) : in_(text) {}

  KernelPlan parse() {
    in_.expect("plan");
    in_.expect(kVersion);
    plan_.name = in_.word();
    std::vector<std::string_view> inputs;
    in_.expect("(");
    while (in_.sees_word()) {
      inputs.push_back(in_.word());
      if (!in_.eat(",")) break;
    }
    in_.expect(")");
    in_.expect("->");
    // Outputs name buffers that are declared below: read them last.
    Scanner outputs = in_;
    while (!in_.sees("{\n")) skip_output();
    in_.expect("{");
    while (!in_.sees("arena")) buffer();
    in_.expect("arena");
    plan_.arena_bytes = in_.sym();
    while (!in_.eat("}")) plan_.steps.push_back(step());
    if (!in_.at_end()) in_.fail("the end");
    for (std::string_view input : inputs) plan_.inputs.push_back(known(input));
    for (const PlanBuffer& b : plan_.buffers)
      if (plan_.device.kind == Device::Kind::kCpu) plan_.device = b.type.device;
    std::swap(in_, outputs);
    if (!in_.sees("{\n")) {
      do plan_.outputs.push_back(parse_ref(in_, lookup_, names_));
      while (in_.eat(","));
    }
    return std::move(plan_);
  }

 private:
  void skip_output() {
    in_.word();
    if (in_.eat("[")) {
      const auto more = [&](std::string_view close) {
        if (in_.eat(close)) return;
        do in_.sym();
        while (in_.eat(","));
        in_.expect(close);
      };
      more("]");
      in_.expect("{");
      more("}");
      if (in_.eat("+")) in_.sym();
    }
    in_.eat(",");
  }

  void buffer() {
    PlanBuffer buffer;
    buffer.name = in_.word();
    in_.expect(":");
    buffer.type = parse_type(in_);
    const std::string_view storage = in_.word();
    size_t i = 0;
    while (i < kStorageNames.size() && kStorageNames[i] != storage) ++i;
    if (i == kStorageNames.size()) in_.fail("input, arena, owned or extern before here");
    buffer.storage = static_cast<Storage>(i);
    if (buffer.storage == Storage::kArena) buffer.offset = in_.sym();
    const int index = static_cast<int>(plan_.buffers.size());
    if (!indices_.try_emplace(buffer.name, index).second) in_.fail("a new name before here");
    plan_.buffers.push_back(std::move(buffer));
  }

  int known(std::string_view name) {
    auto index = lookup_(name);
    if (!index) in_.fail(str_cat("a buffer instead of ", name));
    return *index;
  }

  Step step() {
    if (in_.eat("allocate ")) return Allocate{known(in_.word())};
    if (in_.eat("release ")) return Release{known(in_.word())};
    if (in_.eat("call ")) return parse_call(in_, lookup_, names_);
    in_.expect("launch ");
    Launch launch;
    launch.kernel = in_.word();
    in_.expect("(");
    while (!in_.sees(";") && !in_.sees(")")) {
      launch.buffers.push_back(known(in_.word()));
      if (!in_.eat(",")) break;
    }
    if (in_.eat(";")) {
      do launch.sizes.push_back(in_.sym());
      while (in_.eat(","));
    }
    in_.expect(")");
    if (in_.eat_word("with")) {
      do launch.values.push_back(known(in_.word()));
      while (in_.eat(","));
    }
    if (in_.eat_word("on")) {
      launch.shape.blocks = in_.sym();
      in_.expect("blocks of ");
      launch.shape.threads = static_cast<int>(in_.integer());
    }
    return launch;
  }

  Scanner in_;
  KernelPlan plan_;
  HashMap<std::string, int> indices_;
  const BufferLookup lookup_ = [this](std::string_view name) -> std::optional<int> {
    auto found = indices_.find(std::string(name));
    if (found == indices_.end()) return std::nullopt;
    return found->second;
  };
  const BufferNames names_ = names_of(plan_);
};

}  // namespace

std::string print(const KernelPlan& plan) {
  const BufferNames names = names_of(plan);
  std::string text =
      str_cat("plan ", kVersion, " ", plan.name, "(",
              join(plan.inputs, [&](int b) { return plan.buffers[b].name; }), ") -> ",
              join(plan.outputs, [&](const auto& ref) { return print(ref, names); }), " {\n");
  for (const PlanBuffer& b : plan.buffers) {
    str_append(&text, "  ", b.name, ": ", aten_bridge::print(b.type), " ",
               kStorageNames[static_cast<size_t>(b.storage)]);
    if (b.storage == Storage::kArena) str_append(&text, " ", b.offset.str());
    text += "\n";
  }
  str_append(&text, "  arena ", plan.arena_bytes.str(), "\n");
  for (const Step& step : plan.steps)
    str_append(&text, "  ", std::visit(StepPrinter{plan}, step), "\n");
  return text + "}\n";
}

absl::StatusOr<KernelPlan> parse_plan(std::string_view text) {
  try {
    return PlanParser(text).parse();
  } catch (const SyntaxError& error) {
    return absl::InvalidArgumentError(error.message);
  }
}

}  // namespace inductor
