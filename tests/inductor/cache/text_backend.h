// A backend whose kernels are given as text, built and loaded by the host compiler; counts its
// builds.
//   TextBackend backend;
//   EmittedKernel k = adder("k1", 3);      // adds 3 to one int
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "inductor/backend/cpu/host_compiler.h"
#include "inductor/backend/cpu/shared_object.h"
#include "inductor/backend/device_backend.h"

namespace inductor {

class TextBackend : public DeviceBackend {
 public:
  Features features() const override { return {}; }
  EmittedKernel emit(const LoopProgram&, const Kernel&) const override { return {}; }
  std::string preamble() const override { return "using TdContext = void;\n"; }
  absl::StatusOr<std::string> identity() const override { return identity_; }
  std::string_view source_suffix() const override { return ".cc"; }
  std::string_view binary_suffix() const override { return ".so"; }
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

// A new empty directory; removed with its contents.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "torchdyn-test-XXXXXX").string();
    if (!mkdtemp(path_.data())) std::abort();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  // Names of the files that end so.
  std::vector<std::string> files(std::string_view suffix) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
        found.push_back(entry.path().string());
    }
    return found;
  }

 private:
  std::string path_;
};

}  // namespace inductor
