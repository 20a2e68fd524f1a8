// Weights on their way into a package: by name, each once.
//   StoredWeights weights;
//   if (Verdict kept = weights.add("fc.weight", tensor); !kept) throw PackageError(kept.reason());
//   auto section = weights.section();
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"

#include "aten_bridge/base/verdict.h"

namespace torchdyn {

class StoredWeights {
 public:
  // No: another tensor has the name, or the tensor is not one whose memory can be kept.
  aten_bridge::Verdict add(const std::string& name, const at::Tensor& tensor);
  bool has_another(const std::string& name, const at::Tensor& tensor) const;
  // Header and bytes, which live as long as this.
  absl::StatusOr<std::vector<std::string_view>> section();

 private:
  struct Weight {
    std::string name;
    at::Tensor tensor;  // as given, to tell one from another
    at::Tensor bytes;   // on the CPU, row-major in the order of its strides
  };
  std::vector<Weight> weights_;
  std::string header_;
};

}  // namespace torchdyn
