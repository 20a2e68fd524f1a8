// Variants of compiled functions as a package.
//   save_methods({{"forward", "", {{&variant, tensors, names}}}}, Numerics::kDefault, {},
//   "model.td");
#pragma once

#include <string>
#include <vector>

#include "aten_bridge/base/numerics.h"

namespace at {
class Tensor;
}

namespace torchdyn {

struct Options;
struct SaveOptions;
struct Variant;

// A variant and the tensors of a call that it serves: those that go into the package; undefined
// ones are for whoever calls it to give.
struct VariantToSave {
  const Variant* variant = nullptr;
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;  // of the tensors; empty: those of the graph's inputs
};

struct MethodToSave {
  std::string name;
  std::string structure;  // PackagedMethod::structure
  std::vector<VariantToSave> variants;
};

// With a function's modules and declared state. PackageError where a module is gone.
VariantToSave with_state(const Variant& variant, const Options& options);

// Variants that run in eager are left out. Throws PackageError.
void save_methods(const std::vector<MethodToSave>& methods, aten_bridge::Numerics numerics,
                  const SaveOptions& options, const std::string& path);

}  // namespace torchdyn
