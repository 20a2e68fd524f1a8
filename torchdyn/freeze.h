// Freezing: parameters and buffers as constants of a variant where nothing is trained.
//   TracedVariant traced = trace_variant(...);
//   if (options.freezing) freeze(traced, call);      // before it is compiled
//
// What depends on them alone is computed once and becomes further constants; scales and shifts of
// channels go into the weights before them, and weights of oneDNN's convolutions into its order
// where that is faster. Each that was read is guarded: by identity, version
// counter and memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "aten_bridge/base/numerics.h"

namespace at {
class Tensor;
}

namespace torchdyn {

using aten_bridge::Numerics;
struct Call;
struct TracedVariant;

// Tensors whose values a variant has baked in.
class FrozenTensors {
 public:
  // Of a call's inputs, by number; none of them an inference tensor, which has no version.
  static FrozenTensors record(std::span<const at::Tensor> inputs, const std::vector<int>& which,
                              const std::vector<std::string>& names);
  bool hold(std::span<const at::Tensor> inputs) const noexcept;
  // "parameter 'weight' was changed in place"; empty when all hold.
  std::string explain_failure(std::span<const at::Tensor> inputs) const;
  std::vector<std::string> describe() const;

 private:
  struct Frozen {
    int input;
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;  // keeps the address, not the memory
    uint32_t version;
    const void* memory;
    std::string name;
  };
  std::vector<Frozen> frozen_;
};

// Nothing where the variant trains, or no parameter is worth it.
// Under Numerics::kEager weights stay as they are: what is computed once has eager's bits.
void freeze(TracedVariant& traced, const Call& call, Numerics numerics);

}  // namespace torchdyn
