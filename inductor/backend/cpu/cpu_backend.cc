#include "inductor/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <thread>

#include <unistd.h>

#include "inductor/backend/cpu/host_compiler.h"
#include "inductor/backend/cpu/processor.h"
#include "inductor/backend/cpu/shared_object.h"

namespace inductor {
namespace {

constexpr unsigned kMostCompilers = 4;  // others want the cores too

class CpuBackend final : public DeviceBackend {
 public:
  Features features() const override {
    Features features;
    const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (l2 > 0) features.fast_memory_bytes = l2 / 2;
    return features;
  }

  EmittedKernel emit(const LoopProgram& program, const Kernel& kernel) const override {
    return emit_cpp(program, kernel);
  }

  std::string preamble() const override { return cpp_preamble(); }

  absl::StatusOr<std::string> identity() const override {
    auto compiler = host_compiler();
    if (!compiler.ok()) return compiler.status();
    return compiler->identity;
  }

  std::string_view source_suffix() const override { return ".cc"; }
  std::string_view binary_suffix() const override { return ".so"; }

  int most_at_once() const override {
    return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kMostCompilers));
  }
  absl::Status build(const BuildFiles& files) const override {
    auto compiler = host_compiler();
    if (!compiler.ok()) return compiler.status();
    return compile_shared_object(*compiler, files);
  }

  absl::Status build_for_target(const BuildFiles& files, const std::string& target) const override {
    if (!is_processor_level(target))
      return absl::InvalidArgumentError(target + " is no target of this processor's kind");
    auto compiler = host_compiler();
    if (!compiler.ok()) return compiler.status();
    // Without symbols, of which one is the source's temporary name; with libm, which may not be
    // where whoever loads it looks.
    return compile_shared_object(
        *compiler, files,
        {"-march=" + target, "-s", "-Wl,--no-as-needed", "-lm", "-Wl,--as-needed"});
  }
  std::string target() const override { return processor_level(); }

  absl::StatusOr<std::vector<Launcher>> load(const std::string& file,
                                             std::span<const std::string> kernels) const override {
    return load_shared_object(file, kernels);
  }
};

}  // namespace

absl::StatusOr<const DeviceBackend*> cpu_backend(int) {
  static const auto* const backend = new CpuBackend;  // usable while the process exits
  return backend;
}

}  // namespace inductor
