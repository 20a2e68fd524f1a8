// One captured form of a compiled function: its guards, and what to run when they hold.
//   TracedVariant traced = trace_variant(guard_call(call, names), call, names, trace,
//                                       numerics);
//   build_variants({&traced, 1}, options);                   // many can be compiled together
//   if (traced.variant->matches(call)) answer = traced.variant->run(call);
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/guards/tensor_guards.h"
#include "aten_bridge/trace/capture.h"
#include "inductor/compile.h"
#include "torchdyn/compile.h"
#include "torchdyn/dynamic_sizes.h"
#include "torchdyn/freeze.h"
#include "torchdyn/module_state.h"
#include "torchdyn/program.h"

namespace torchdyn {

// All that one call depends on: the arguments' leaves, then the declared state's.
struct Call {
  const internal::Leaves& leaves;
  ModuleState state;  // of module arguments, then of options.state
  std::vector<at::Tensor>
      tensors;  // leaves.tensors, then state.tensors, then options.state's tensors
};

// Which of a call's tensors are one and the same: captured inputs are each TensorImpl once.
struct Duplicates {
  std::vector<int> input_of;   // a call's tensor -> input
  std::vector<int> tensor_of;  // input -> the first of the call's tensors that is it

  static Duplicates find(const std::vector<at::Tensor>& tensors);
  // Whether the same of a call's tensors are one, and no others.
  bool hold(const std::vector<at::Tensor>& tensors) const noexcept;
  // The inputs among a call's tensors: the list itself, or, where some are the same, `storage`.
  std::span<const at::Tensor> inputs(const std::vector<at::Tensor>& tensors,
                                     std::vector<at::Tensor>& storage) const;
};

// Everything but tensors: numbers, strings, modules' identities, training flags; and that no
// definition of an operator has joined (extend.h).
class HostGuards {
 public:
  static HostGuards record(const Call& call, bool numbers_may_change);
  bool check(const Call& call) const noexcept;
  // Whether calls may still find it: definitions are as they were.
  bool is_current() const noexcept;
  // "argument 2 changed from 3 to 4"; empty when all hold.
  std::string explain_failure(const Call& call) const;
  std::vector<std::string> describe() const;
  // Those of the call, in its order; none where one of them is gone.
  std::vector<std::shared_ptr<const torch::nn::Module>> modules() const;

 private:
  std::vector<internal::Constant> constants_;
  std::vector<std::pair<const torch::nn::Module*, std::weak_ptr<const torch::nn::Module>>> modules_;
  std::vector<std::uint64_t> flags_;
  std::uint64_t rows_generation_ = 0;  // operators' definitions join while the program runs
  std::optional<std::vector<int64_t>> numbers_;  // none: the caller's to check
};

struct Variant {
  HostGuards host;
  bool grad_mode = false;                    // of the call that it was made for
  std::vector<bool> argument_requires_grad;  // one a tensor among its arguments
  Duplicates duplicates;
  std::optional<SizeGuards> sizes;  // none: `host` and `inputs` have them
  std::optional<aten_bridge::InputGuards> inputs;

  std::string eager_reason;  // not empty: such calls run in eager
  std::unique_ptr<const Program> program;
  FrozenTensors frozen;
  std::shared_ptr<const void> prototype;
  Explanation::Variant explanation;  // as compiled; explain() adds what calls made of it

  Explanation::Variant explain() const;
  bool matches(const Call& call, bool with_handles = true) const;
  std::string why_not(const Call& call) const;
  Program::Results run(const Call& call) const;  // throws as Program::run

  bool is_replaced = false;  // by one for fewer handles on a module's tensors; under the mutex
  Variant* next = nullptr;   // older variants of the same function; set before publication
};

// Guards for this call; nothing captured yet. `sizes`: what may be otherwise.
std::unique_ptr<Variant> guard_call(const Call& call, const std::vector<std::string>& names,
                                    std::optional<SizeGuards> sizes = std::nullopt);

// A variant on its way: captured and split, not yet compiled.
struct TracedVariant {
  std::unique_ptr<Variant> variant;
  aten_bridge::Captured captured;
  aten_bridge::Partition partition;  // forward alone where nothing is trained
  // Which tangents partition.backward takes, and the backward that takes all; none where it does.
  std::vector<bool> given;
  std::optional<aten_bridge::Graph> backward_of_all;
  std::vector<SymExpr> numbers;  // of the result

  bool trains() const { return captured.joint.tangents > 0; }
  std::vector<const aten_bridge::Graph*> graphs() const;
};

// Throws what capture throws; the variant is consumed either way. One with SizeGuards is captured
// at their samples too; CaptureError where these do not make one program.
TracedVariant trace_variant(std::unique_ptr<Variant> variant, const Call& call,
                            const std::vector<std::string>& names, internal::TraceRef trace,
                            Numerics numerics);
// Compiles all of them together and makes each `variant` whole; why there is no compiler is an
// eager_reason of each. Throws Shortage.
void build_variants(std::span<TracedVariant> traced, const Options& options,
                    inductor::OnFault on_fault = inductor::OnFault::kLeaveRepro);

}  // namespace torchdyn
