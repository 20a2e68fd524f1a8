// Variants of a compiled function as a package.
//   save_variants({{&variant, tensors, names}}, Numerics::kDefault, "", "model.td");
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/base/numerics.h"

namespace at {
class Tensor;
}

namespace torchdyn {

struct Options;
struct Variant;

// A variant and the tensors of a call that it serves: those that go into the package; undefined
// ones are for whoever calls it to give.
struct VariantToSave {
  const Variant* variant = nullptr;
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;  // of the tensors; empty: those of the graph's inputs
};

// With a function's modules and declared state. PackageError where a module is gone.
VariantToSave with_state(const Variant& variant, const Options& options);

// Those that run in eager are left out. `structure`: Manifest::structure. Throws PackageError.
void save_variants(const std::vector<VariantToSave>& variants, aten_bridge::Numerics numerics,
                   const std::string& structure, const std::string& path);

}  // namespace torchdyn
