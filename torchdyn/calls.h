// Callables over flat lists of tensors, compiled ahead of their first call, many together.
//   std::vector<CallToCompile> calls = {{trace, {x, w}}, ...};
//   const auto compiled = compile_calls(calls);
//   if (compiled[0]->eager_reason().empty()) results = (*compiled[0])({x, w});
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "inductor/compile.h"
#include "torchdyn/compile.h"
#include "torchdyn/dynamic_sizes.h"

namespace torchdyn {

struct Variant;

// A callable and the tensors that it is compiled for. The trace may throw
// aten_bridge::CaptureError.
struct CallToCompile {
  internal::TraceRef trace;
  std::vector<at::Tensor> tensors;
  std::optional<DynamicSizes> sizes = {};  // that may be others in a call
};

// A callable that was compiled for the tensors of one call. Immutable; any thread may call it.
class CompiledCall {
 public:
  explicit CompiledCall(std::unique_ptr<Variant> variant);
  ~CompiledCall();

  // std::runtime_error where the tensors are not what it was compiled for, or where eager_reason()
  // is not empty; aten_bridge::EagerRaises where eager raises for their values.
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& tensors) const;

  const std::string& eager_reason() const;  // why nothing was compiled
  Explanation::Variant explanation() const;
  const Variant& variant() const { return *variant_; }
  size_t tensor_count() const;  // of a call

 private:
  std::unique_ptr<Variant> variant_;
};

// One each, in order. One that cannot be traced or built does not take the others with it. Under
// OnFault::kReport a backward that meets a fault throws it, and does not run in eager.
std::vector<std::unique_ptr<CompiledCall>> compile_calls(
    std::span<const CallToCompile> calls, Numerics numerics = Numerics::kDefault,
    inductor::OnFault on_fault = inductor::OnFault::kLeaveRepro);

}  // namespace torchdyn
