#include "inductor/backend/cuda/cuda_backend.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "inductor/backend/cuda/cubin.h"
#include "inductor/backend/cuda/cuda_target.h"
#include "inductor/backend/cuda/driver.h"
#include "inductor/backend/cuda/nvrtc.h"
#include "inductor/backend/cuda/nvrtc_worker.h"

namespace inductor {
namespace {

constexpr int kOldest = 75;  // that NVRTC knows, since CUDA 13

class CudaBackend final : public DeviceBackend {
 public:
  explicit CudaBackend(int capability) : capability_(capability) {}

  Features features() const override { return cuda_features(); }
  EmittedKernel emit(const LoopProgram& program, const Kernel& kernel) const override {
    return emit_cuda(program, kernel);
  }
  std::string preamble() const override { return cuda_preamble(); }

  absl::StatusOr<std::string> identity() const override {
    auto nvrtc = find_nvrtc();
    if (!nvrtc.ok()) return nvrtc.status();
    return absl::StrCat("sm_", capability_, "\n", nvrtc_identity(*nvrtc));
  }

  std::string target() const override { return absl::StrCat("sm_", capability_); }
  std::string_view source_suffix() const override { return ".cu"; }
  std::string_view binary_suffix() const override { return ".cubin"; }

  int most_at_once() const override { return most_cubins_at_once(); }
  absl::Status build(const BuildFiles& files) const override {
    auto nvrtc = find_nvrtc();
    if (!nvrtc.ok()) return nvrtc.status();
    return compile_cubin_anywhere(*nvrtc, capability_, files);
  }
  absl::Status build_for_target(const BuildFiles& files, const std::string& target) const override {
    const auto gpu = parse_cuda_target(target);
    if (!gpu || gpu->capability < kOldest)
      return absl::InvalidArgumentError(target + " is no target of a GPU that is served");
    auto nvrtc = find_nvrtc();
    if (!nvrtc.ok()) return nvrtc.status();
    return gpu->is_ptx ? compile_ptx(*nvrtc, gpu->capability, files)
                       : compile_cubin(*nvrtc, gpu->capability, files);
  }

  absl::StatusOr<std::vector<Launcher>> load(const std::string& file,
                                             std::span<const std::string> kernels) const override {
    auto driver = cuda_driver();
    if (!driver.ok()) return driver.status();
    return load_cubin(**driver, file, kernels);
  }

 private:
  const int capability_;
};

absl::StatusOr<int> capability_of(int index) {
  if (const char* arch = std::getenv("TORCHDYN_CUDA_ARCH"); arch && *arch) {
    absl::string_view digits = arch;
    int capability = 0;
    if (absl::ConsumePrefix(&digits, "sm_") && absl::SimpleAtoi(digits, &capability))
      return capability;
    return absl::InvalidArgumentError(
        absl::StrCat("TORCHDYN_CUDA_ARCH is ", arch, "; it is written like sm_90"));
  }
  auto driver = cuda_driver();
  if (!driver.ok()) return driver.status();
  return (*driver)->compute_capability(index);
}

}  // namespace

Features cuda_features() {
  Features features;
  features.has_lanes = true;
  features.fast_memory_bytes = 1024 * 1024;  // a block's share of L2
  features.local_bytes = 256 * 1024;         // a processor's registers
  features.most_chunks = 256;
  features.least_parallel = 128;
  features.small_work = 16 * 1024;
  features.tiny_work = 1024 * 1024;  // microseconds, most of them the launch
  return features;
}

std::optional<int64_t> cuda_threads(int index) {
  const auto driver = cuda_driver();
  if (!driver.ok()) return std::nullopt;
  const auto threads = (*driver)->most_threads(index, 256);
  return threads.ok() ? std::optional(*threads) : std::nullopt;
}

absl::StatusOr<const DeviceBackend*> cuda_backend(int index) {
  auto capability = capability_of(index);
  if (!capability.ok()) return capability.status();
  if (*capability < kOldest)
    return absl::FailedPreconditionError(absl::StrCat("cuda:", index, " is sm_", *capability,
                                                      "; kernels need sm_", kOldest, " or newer"));
  static std::mutex mutex;
  static auto& backends = *new std::map<int, CudaBackend>;
  std::lock_guard lock(mutex);
  return &backends.try_emplace(*capability, *capability).first->second;
}

}  // namespace inductor
