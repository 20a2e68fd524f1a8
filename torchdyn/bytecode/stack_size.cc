#include "torchdyn/bytecode/stack_size.h"

#include <algorithm>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

class StackWalk {
 public:
  explicit StackWalk(const Bytecode& code) : code_(code) {
    const Instruction* before = nullptr;
    for (const Instruction& instruction : code.instructions) {
      if (before) next_[before] = &instruction;
      before = &instruction;
    }
  }

  absl::StatusOr<int> run() {
    if (!code_.instructions.empty()) reach(&code_.instructions.front(), 0);
    while (!pending_.empty() && error_.ok()) {
      const Instruction* instruction = pending_.back();
      pending_.pop_back();
      step(*instruction, height_.at(instruction));
    }
    if (!error_.ok()) return error_;
    return highest_;
  }

 private:
  void step(const Instruction& i, int height) {
    const int arg = static_cast<int>(i.arg);
    const auto after = [&](bool jump) {
      return height + stack_effect(i.op, code_.version, arg, jump);
    };
    if (i.handler) {
      const int cut = i.handler->depth + static_cast<int>(i.handler->keeps_index);
      reach(i.handler->target, cut + 1);
    }
    if (is_jump(i.op)) reach(i.target, after(true));
    if (flow(i.op) == Flow::kNext || flow(i.op) == Flow::kBranch) {
      const auto next = next_.find(&i);
      reach(next == next_.end() ? nullptr : next->second, after(false));
    }
  }

  void reach(const Instruction* instruction, int height) {
    if (!instruction) return fail("the code runs past its end");
    const auto [known, is_new] = height_.emplace(instruction, height);
    if (height < 0)
      return fail(str_cat("the stack is empty before ", opcode_name(instruction->op)));
    if (known->second != height)
      return fail(str_cat("the stack is ", known->second, " or ", height, " high at ",
                          opcode_name(instruction->op)));
    highest_ = std::max(highest_, height);
    if (is_new) pending_.push_back(instruction);
  }

  void fail(const std::string& message) { error_ = absl::InvalidArgumentError(message); }

  const Bytecode& code_;
  aten_bridge::HashMap<const Instruction*, const Instruction*> next_;
  aten_bridge::HashMap<const Instruction*, int> height_;
  std::vector<const Instruction*> pending_;
  int highest_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<int> stack_size(const Bytecode& code) { return StackWalk(code).run(); }

}  // namespace torchdyn
