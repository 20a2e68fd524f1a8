// One captured form of a compiled function: its guards, and what to run when they hold.
//   TracedVariant traced = trace_variant(guard_call(call, names), call, names, trace,
//                                       numerics);
//   build_variants({&traced, 1}, numerics);                  // many can be compiled together
//   if (traced.variant->matches(call)) answer = traced.variant->run(call);
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/autograd/compiled_function.h"
#include "aten_bridge/guards/tensor_guards.h"
#include "aten_bridge/trace/capture.h"
#include "torchdyn/compile.h"
#include "torchdyn/freeze.h"
#include "torchdyn/module_state.h"

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
  bool hold(const std::vector<at::Tensor>& tensors) const noexcept;
  // The inputs among a call's tensors: the list itself, or, where some are the same, `storage`.
  std::span<const at::Tensor> inputs(const std::vector<at::Tensor>& tensors,
                                     std::vector<at::Tensor>& storage) const;
};

// Everything but tensors: numbers, strings, modules' identities, training flags; and that no
// definition of an operator has joined (extend.h).
class HostGuards {
 public:
  static HostGuards record(const Call& call);
  bool check(const Call& call) const noexcept;
  // Whether calls may still find it: definitions are as they were.
  bool is_current() const noexcept;
  // "argument 2 changed from 3 to 4"; empty when all hold.
  std::string explain_failure(const Call& call) const;
  std::vector<std::string> describe() const;

 private:
  std::vector<internal::Constant> constants_;
  std::vector<std::pair<const torch::nn::Module*, std::weak_ptr<const torch::nn::Module>>> modules_;
  std::vector<std::uint64_t> flags_;
  std::uint64_t rows_generation_ = 0;  // operators' definitions join while the program runs
};

struct Variant {
  HostGuards host;
  Duplicates duplicates;
  std::optional<aten_bridge::InputGuards> inputs;

  std::string eager_reason;  // not empty: such calls run in eager
  std::shared_ptr<const aten_bridge::CompiledFunction> function;
  // The last primals: what the callable made, then what freezing computed.
  std::vector<at::Tensor> constants;
  FrozenTensors frozen;
  std::vector<aten_bridge::ResultSource> results;
  std::vector<aten_bridge::Mutation> mutations;
  std::vector<aten_bridge::Assumption> assumptions;
  bool draws = false;
  std::shared_ptr<const void> prototype;
  Explanation::Variant explanation;

  bool matches(const Call& call) const noexcept;
  std::string why_not(const Call& call) const;
  // AssumptionFailed: values that capture read are otherwise now; nothing has changed then.
  std::vector<at::Tensor> run(const Call& call) const;

  Variant* next = nullptr;  // older variants of the same function; set before publication

 private:
  std::vector<at::Tensor> run_checked(std::vector<at::Tensor> primals) const;
};

// Guards for this call; nothing captured yet.
std::unique_ptr<Variant> guard_call(const Call& call, const std::vector<std::string>& names);

// A variant on its way: captured and split, not yet compiled.
struct TracedVariant {
  std::unique_ptr<Variant> variant;
  aten_bridge::Captured captured;
  aten_bridge::Partition partition;  // forward alone where nothing is trained

  bool trains() const { return captured.joint.tangents > 0; }
  std::vector<const aten_bridge::Graph*> graphs() const;
};

// Throws what capture throws; the variant is consumed either way.
TracedVariant trace_variant(std::unique_ptr<Variant> variant, const Call& call,
                            const std::vector<std::string>& names, internal::TraceRef trace,
                            Numerics numerics);
// Compiles all of them together and makes each `variant` whole; a compiler that fails is an
// eager_reason of each.
void build_variants(std::span<TracedVariant> traced, Numerics numerics);

}  // namespace torchdyn
