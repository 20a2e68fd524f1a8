#include "inductor/backend/cuda/nvrtc.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inductor/backend/cuda/nvrtc_worker.h"
#include "inductor/backend/loaded_library.h"
#include "tests/inductor/support/cuda_compiler.h"
#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"

namespace inductor {
namespace {

using testing::compile_cuda;
using testing::CompiledCuda;
using ::testing::HasSubstr;
using testing::nvrtc_of_libtorch;
using ::testing::StartsWith;

constexpr char kTwice[] =
    "extern \"C\" __global__ void twice(float* x, long long n) {\n"
    "  const long long i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] = 2 * x[i];\n"
    "}\n";

void make_file(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "\n";
}

TEST(Nvrtc, CompilesForTheTargetsThatWePromise) {
  NEEDS_NVRTC();
  std::string last;
  for (int capability : {75, 80, 90}) {
    const CompiledCuda compiled = compile_cuda(kTwice, capability);
    ASSERT_TRUE(compiled.status.ok()) << compiled.status << compiled.log;
    EXPECT_THAT(compiled.cubin, StartsWith("\x7f"
                                           "ELF"));
    EXPECT_THAT(compiled.cubin, HasSubstr("twice"));
    EXPECT_NE(compiled.cubin, last);
    last = compiled.cubin;
  }
}

TEST(Nvrtc, ARejectedKernelIsAStatusAndItsReasonIsInTheLog) {
  NEEDS_NVRTC();
  const CompiledCuda compiled =
      compile_cuda("extern \"C\" __global__ void k(float* x) { *x = no_such_function(); }", 90);
  EXPECT_TRUE(absl::IsInvalidArgument(compiled.status)) << compiled.status;
  EXPECT_THAT(compiled.log, HasSubstr("no_such_function"));
  EXPECT_EQ(compiled.cubin, "");
}

TEST(Nvrtc, ServesADeviceThatIsNewerThanItsOwnTargets) {
  NEEDS_NVRTC();  // no device is an sm_95: code for sm_90 runs on one
  EXPECT_TRUE(compile_cuda(kTwice, 95).status.ok());
}

TEST(Nvrtc, NamesItsTargetsWhereNoneServes) {
  NEEDS_NVRTC();
  const absl::Status status = compile_cuda(kTwice, 35).status;
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("80, "));
}

TEST(Nvrtc, CompilesOnSeveralThreads) {
  NEEDS_NVRTC();
  std::vector<CompiledCuda> compiled(4);
  {
    std::vector<std::jthread> threads;
    for (CompiledCuda& one : compiled)
      threads.emplace_back([&one] { one = compile_cuda(kTwice, 80); });
  }
  for (const CompiledCuda& one : compiled) {
    EXPECT_TRUE(one.status.ok()) << one.status;
    EXPECT_EQ(one.cubin, compiled[0].cubin);
  }
}

// A machine without CUDA's toolkit has them nowhere else.
TEST(Nvrtc, TakesTheBuiltinsThatLieBesideIt) {
  NEEDS_NVRTC();
  ASSERT_TRUE(compile_cuda(kTwice, 80).status.ok());
  const std::string builtins =
      loaded_library([](std::string_view name) { return name.starts_with("libnvrtc-builtins"); });
  EXPECT_EQ(std::filesystem::path(builtins).parent_path(),
            std::filesystem::path(nvrtc_of_libtorch()).parent_path());
}

TEST(Nvrtc, IsFoundWhereTheProcessHasLoadedIt) {
  NEEDS_NVRTC();
  const Variable no_wish("TORCHDYN_NVRTC", "");
  ASSERT_TRUE(compile_cuda(kTwice, 80).status.ok());
  EXPECT_EQ(find_nvrtc().value_or("none"), nvrtc_of_libtorch());
}

TEST(Nvrtc, IsFoundInEveryLayoutOfLibTorch) {
  for (const char* place :
       {"/nvidia/cu13/lib/libnvrtc.so.13", "/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "/torch/lib/libnvrtc-1ea278b5.so.12"}) {
    const ScratchDirectory site_packages;
    make_file(site_packages.path() + "/torch/lib/libtorch_cpu.so");
    make_file(site_packages.path() + "/nvidia/cudnn/lib/libcudnn.so.9");
    const auto nvrtc = std::filesystem::path(site_packages.path() + place);
    make_file(nvrtc.string());
    make_file(nvrtc.parent_path() / "libnvrtc-builtins.so.13.0");
    make_file(nvrtc.parent_path() / "libnvrtc.alt.so.13");
    const std::string found = nvrtc_beside(site_packages.path() + "/torch/lib/libtorch_cpu.so");
    ASSERT_NE(found, "") << place;
    EXPECT_TRUE(std::filesystem::equivalent(found, nvrtc)) << found;
  }
}

// The files of one compile, and what is in them afterwards.
struct Workplace {
  explicit Workplace(const std::string& text) { std::ofstream(files.source) << text; }
  std::string read(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchDirectory folder;
  BuildFiles files{folder.path() + "/k.cu", folder.path() + "/k.cubin", folder.path() + "/k.log"};
};

TEST(NvrtcWorker, MakesTheCubinThatThisProcessMakes) {
  NEEDS_NVRTC();
  ASSERT_NE(nvrtc_worker(), "") << "torchdyn_nvrtc lies beside the tests";
  const Workplace work(kTwice);
  ASSERT_TRUE(compile_cubin_by(nvrtc_worker(), nvrtc_of_libtorch(), 90, work.files));
  EXPECT_EQ(work.read(work.files.binary), compile_cuda(kTwice, 90).cubin);
}

TEST(NvrtcWorker, WhatItCannotDoIsDoneHere) {
  NEEDS_NVRTC();
  const Workplace work("extern \"C\" __global__ void k(float* x) { *x = no_such_function(); }");
  EXPECT_FALSE(compile_cubin_by(nvrtc_worker(), nvrtc_of_libtorch(), 90, work.files));
  EXPECT_FALSE(compile_cubin_by("/no/such/program", nvrtc_of_libtorch(), 90, work.files));
  const absl::Status status = compile_cubin_anywhere(nvrtc_of_libtorch(), 90, work.files);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(work.read(work.files.log), HasSubstr("no_such_function"));
}

TEST(NvrtcWorker, ManyAtOnce) {
  NEEDS_NVRTC();
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&made] {
      const Workplace work(kTwice);
      made += compile_cubin_anywhere(nvrtc_of_libtorch(), 90, work.files).ok() &&
              !work.read(work.files.binary).empty();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 8);
}

TEST(Nvrtc, MakesPtx) {
  NEEDS_NVRTC();
  const Workplace work(kTwice);
  ASSERT_TRUE(compile_ptx(nvrtc_of_libtorch(), 80, work.files).ok());
  EXPECT_THAT(work.read(work.files.binary), HasSubstr(".target sm_80"));
}

TEST(Nvrtc, AWishThatIsNoFileIsNamed) {
  const Variable wish("TORCHDYN_NVRTC", "/no/such/file");
  EXPECT_THAT(std::string(find_nvrtc().status().message()), HasSubstr("/no/such/file"));
}

TEST(Nvrtc, AnotherLibraryInItsPlaceIsRefused) {
  const ScratchDirectory folder;
  const std::string source = folder.path() + "/k.cu";
  make_file(source);
  const absl::Status status = compile_cubin(
      "libm.so.6", 90, {source, folder.path() + "/k.cubin", folder.path() + "/k.log"});
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("lacks nvrtc"));
}

TEST(Nvrtc, ItsIdentityNamesTheFileAndTheFlags) {
  const ScratchDirectory folder;
  const std::string one = folder.path() + "/libnvrtc.so.12",
                    other = folder.path() + "/libnvrtc.so.13";
  make_file(one);
  make_file(other);
  EXPECT_NE(nvrtc_identity(one), nvrtc_identity(other));
  EXPECT_THAT(nvrtc_identity(one), HasSubstr("-fmad=false"));
}

}  // namespace
}  // namespace inductor
