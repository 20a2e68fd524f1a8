// A backend whose kernels are given as text, built and loaded by the host compiler; counts its
// builds.
//   TextBackend backend;
//   EmittedKernel k = adder("k1", 3);      // adds 3 to one int
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "inductor/backend/cpu/host_compiler.h"
#include "inductor/backend/cpu/shared_object.h"
#include "inductor/backend/device_backend.h"
#include "tests/inductor/support/scratch_directory.h"

namespace inductor {

class TextBackend : public DeviceBackend {
 public:
  Features features() const override { return {}; }
  EmittedKernel emit(const LoopProgram&, const Kernel&) const override { return {}; }
  std::string preamble() const override { return "using TdContext = void;\n"; }
  absl::StatusOr<std::string> identity() const override { return identity_; }
  std::string_view source_suffix() const override { return ".cc"; }
  std::string_view binary_suffix() const override { return ".so"; }
  int most_at_once() const override { return 2; }
  absl::Status build(const BuildFiles& files) const override {
    ++builds;
    auto compiler = host_compiler();
    if (!compiler.ok()) return compiler.status();
    return compile_shared_object(*compiler, files);
  }
  absl::StatusOr<std::vector<Launcher>> load(const std::string& file,
                                             std::span<const std::string> kernels) const override {
    return load_shared_object(file, kernels);
  }

  std::string identity_ = "text";
  mutable std::atomic<int> builds{0};
};

inline EmittedKernel adder(const std::string& name, int amount) {
  return {name,
          absl::StrCat("extern \"C\" void ", name,
                       "(void* const* buffers, const long*, const TdContext*) {\n"
                       "  *static_cast<int*>(buffers[0]) += ",
                       amount, ";\n}\n"),
          {0},
          {}};
}

inline int add(const Launcher& launcher, int value) {
  void* buffers[] = {&value};
  launcher.function(launcher.self, {buffers, 1, nullptr, 0, 0, 0}, nullptr);
  return value;
}

}  // namespace inductor
