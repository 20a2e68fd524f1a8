#include "inductor/backend/cuda/cuda_backend.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inductor/backend/cuda/driver.h"
#include "inductor/cache/kernel_cache.h"
#include "inductor/cache/seal.h"
#include "tests/inductor/support/cuda_compiler.h"
#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const DeviceBackend& backend_of(const std::string& arch) {
  const Variable variable("TORCHDYN_CUDA_ARCH", arch);
  return **cuda_backend(0);
}

std::string refusal(const std::string& arch) {
  const Variable variable("TORCHDYN_CUDA_ARCH", arch);
  return std::string(cuda_backend(0).status().message());
}

EmittedKernel filler(const std::string& name, int value) {
  return {name,
          absl::StrCat("extern \"C\" __global__ void ", name, "(int* x) { x[threadIdx.x] = ", value,
                       "; }\n"),
          {0},
          {},
          {1, 32}};
}

// The CUDA backend, but for a machine without a GPU: what would be loaded is only looked at.
class WithoutDevice final : public DeviceBackend {
 public:
  explicit WithoutDevice(const std::string& arch) : cuda_(backend_of(arch)) {}
  Features features() const override { return cuda_.features(); }
  EmittedKernel emit(const LoopProgram& p, const Kernel& k) const override {
    return cuda_.emit(p, k);
  }
  std::string preamble() const override { return cuda_.preamble(); }
  absl::StatusOr<std::string> identity() const override { return cuda_.identity(); }
  std::string_view source_suffix() const override { return cuda_.source_suffix(); }
  std::string_view binary_suffix() const override { return cuda_.binary_suffix(); }
  int most_at_once() const override { return cuda_.most_at_once(); }
  absl::Status build(const BuildFiles& files) const override { return cuda_.build(files); }
  absl::StatusOr<std::vector<Launcher>> load(const std::string& file,
                                             std::span<const std::string> kernels) const override {
    if (!std::filesystem::exists(file)) return absl::NotFoundError(file);
    const auto library = std::make_shared<const int>(0);
    return std::vector<Launcher>(kernels.size(), Launcher{nullptr, nullptr, library});
  }

 private:
  const DeviceBackend& cuda_;
};

class CudaBackendTest : public ::testing::Test {
 protected:
  Variable nvrtc_{"TORCHDYN_NVRTC", testing::nvrtc_of_libtorch()};
};

TEST_F(CudaBackendTest, WithoutADriverTheStatusSaysSo) {
  const Variable no_wish("TORCHDYN_CUDA_ARCH", "");
  const auto backend = backend_for({Device::Kind::kCuda, 0});
  EXPECT_EQ(backend.ok(), cuda_driver().ok()) << backend.status();
  if (backend.ok()) return;  // a machine with a GPU
  EXPECT_THAT(std::string(backend.status().message()), HasSubstr("NVIDIA's driver"));
}

TEST_F(CudaBackendTest, ADeviceThatIsTooOldIsNamed) {
  EXPECT_EQ(refusal("sm_70"), "cuda:0 is sm_70; kernels need sm_75 or newer");
}

TEST_F(CudaBackendTest, AnArchitectureThatIsNoneIsNamed) {
  EXPECT_THAT(refusal("hopper"), HasSubstr("TORCHDYN_CUDA_ARCH is hopper"));
}

TEST_F(CudaBackendTest, DevicesOfOneKindShareABackend) {
  EXPECT_EQ(&backend_of("sm_90"), &backend_of("sm_90"));
  EXPECT_NE(&backend_of("sm_90"), &backend_of("sm_80"));
}

TEST_F(CudaBackendTest, ItsIdentityTellsArchitecturesApart) {
  NEEDS_NVRTC();
  const auto sm_80 = backend_of("sm_80").identity(), sm_90 = backend_of("sm_90").identity();
  ASSERT_TRUE(sm_80.ok()) << sm_80.status();
  EXPECT_EQ(*sm_80, *backend_of("sm_80").identity());
  EXPECT_NE(*sm_80, *sm_90);
}

TEST_F(CudaBackendTest, WithoutNvrtcNothingIsBuiltAndTheStatusSaysSo) {
  const Variable wish("TORCHDYN_NVRTC", "/no/such/file");
  EXPECT_THAT(std::string(backend_of("sm_90").identity().status().message()),
              HasSubstr("/no/such/file"));
}

TEST_F(CudaBackendTest, ThePreambleCompilesForEveryTarget) {
  NEEDS_NVRTC();
  for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
    const ScratchDirectory folder;
    KernelCache cache(CacheDirectory(folder.path(), 1 << 30));
    const EmittedKernel kernel = filler("k1", 1);
    const EmittedKernel* kernels[] = {&kernel};
    EXPECT_TRUE(cache.get(WithoutDevice(arch), kernels).ok()) << arch;
  }
}

TEST_F(CudaBackendTest, TheCacheHoldsCubins) {
  NEEDS_NVRTC();
  const ScratchDirectory folder;
  const EmittedKernel one = filler("k1", 1), two = filler("k2", 2);
  const EmittedKernel* kernels[] = {&one, &two};
  CacheCounts first, second, other;
  const auto get = [&](const char* arch, CacheCounts& counts) {
    KernelCache cache(CacheDirectory(folder.path(), 1 << 30));
    auto launchers = cache.get(WithoutDevice(arch), kernels, &counts);
    ASSERT_TRUE(launchers.ok()) << launchers.status();
    EXPECT_THAT(*launchers, SizeIs(2));
  };
  get("sm_90", first);
  EXPECT_EQ(first.built, 2);
  ASSERT_THAT(folder.files(".cubin"), SizeIs(1));
  EXPECT_EQ(seal_holds(folder.files(".cubin")[0]), true);
  EXPECT_THAT(folder.files(".cu"), SizeIs(1));
  EXPECT_THAT(folder.files(".log"), IsEmpty());
  get("sm_90", second);
  EXPECT_EQ(second.from_disk, 2);
  get("sm_80", other);
  EXPECT_EQ(other.built, 2);
}

TEST_F(CudaBackendTest, AKernelThatNvrtcRejectsLeavesItsLog) {
  NEEDS_NVRTC();
  const ScratchDirectory folder;
  KernelCache cache(CacheDirectory(folder.path(), 1 << 30));
  EmittedKernel broken = filler("k1", 1);
  broken.text += "no_such_type x;\n";
  const EmittedKernel* kernels[] = {&broken};
  const absl::Status status = cache.get(WithoutDevice("sm_90"), kernels).status();
  ASSERT_FALSE(status.ok());
  ASSERT_THAT(folder.files(".log"), SizeIs(1));
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.files(".log")[0]));
}

TEST_F(CudaBackendTest, AKernelThatNvrtcRejectsIsListedAndOthersAreBuilt) {
  NEEDS_NVRTC();
  const ScratchDirectory folder;
  KernelCache cache(CacheDirectory(folder.path(), 1 << 30));
  const EmittedKernel good = filler("k1", 1);
  EmittedKernel broken = filler("k2", 2);
  broken.text += "no_such_type x;\n";
  const EmittedKernel* kernels[] = {&good, &broken};
  CacheCounts counts;
  std::vector<Rejection> rejected;
  const auto launchers = cache.get(WithoutDevice("sm_90"), kernels, &counts, &rejected);
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  EXPECT_EQ(counts.built, 1);
  ASSERT_THAT(rejected, SizeIs(1));
  EXPECT_EQ(rejected[0].kernel.name, "k2");
  std::ifstream log(rejected[0].log);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}), HasSubstr("no_such_type"));
}

}  // namespace
}  // namespace inductor
