#include "inductor/cache/kernel_cache.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aten_bridge/base/once.h"
#include "tests/inductor/cache/text_backend.h"

namespace inductor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kMegabyte = 1 << 20;

absl::StatusOr<std::vector<Launcher>> get(KernelCache& cache, const DeviceBackend& backend,
                                          std::vector<EmittedKernel> kernels,
                                          CacheCounts* counts = nullptr) {
  std::vector<const EmittedKernel*> pointers;
  for (const EmittedKernel& kernel : kernels) pointers.push_back(&kernel);
  return cache.get(backend, pointers, counts);
}

class KernelCacheTest : public ::testing::Test {
 protected:
  // As another process would see the same directory.
  std::unique_ptr<KernelCache> open() {
    return std::make_unique<KernelCache>(CacheDirectory(scratch_.path(), 100 * kMegabyte));
  }
  ScratchDirectory scratch_;
  TextBackend backend_;
};

TEST_F(KernelCacheTest, BuildsWhatIsMissing) {
  auto cache = open();
  auto launchers = get(*cache, backend_, {adder("k1", 1), adder("k2", 2)});
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  EXPECT_EQ(add((*launchers)[0], 10), 11);
  EXPECT_EQ(add((*launchers)[1], 10), 12);
}

// Its first builds find no memory.
class ShortOfMemory final : public TextBackend {
 public:
  explicit ShortOfMemory(int builds) : left_(builds) {}
  absl::Status build(const BuildFiles& files) const override {
    if (left_-- > 0) throw std::bad_alloc();
    return TextBackend::build(files);
  }

 private:
  mutable std::atomic<int> left_;
};

TEST_F(KernelCacheTest, BuildsAgainWhatFoundNoMemory) {
  auto cache = open();
  const ShortOfMemory backend(1);
  const std::vector<EmittedKernel> kernels = {adder("k1", 1), adder("k2", 2)};
  EXPECT_THROW(get(*cache, backend, kernels), std::bad_alloc);
  EXPECT_TRUE(get(*cache, backend, kernels).ok());
}

TEST_F(KernelCacheTest, BuildsEqualKernelsOnce) {
  auto cache = open();
  CacheCounts counts;
  auto launchers = get(*cache, backend_, {adder("k1", 1), adder("k1", 1)}, &counts);
  ASSERT_TRUE(launchers.ok());
  EXPECT_THAT(*launchers, SizeIs(2));
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, ReusesLoadedCodeWithoutTheDisk) {
  auto cache = open();
  auto first = get(*cache, backend_, {adder("k1", 1)});
  fs::remove_all(scratch_.path());
  CacheCounts counts;
  auto second = get(*cache, backend_, {adder("k1", 1)}, &counts);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(counts.loaded_already, 1);
  EXPECT_EQ((*first)[0].self, (*second)[0].self);
}

TEST_F(KernelCacheTest, UnloadsCodeThatNobodyHolds) {
  auto cache = open();
  ASSERT_TRUE(get(*cache, backend_, {adder("k1", 1)}).ok());
  CacheCounts counts;
  ASSERT_TRUE(get(*cache, backend_, {adder("k1", 1)}, &counts).ok());
  EXPECT_EQ(counts.loaded_already, 0);
  EXPECT_EQ(counts.from_disk, 1);
}

TEST_F(KernelCacheTest, WarmStartRunsNoCompiler) {
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1), adder("k2", 2)}).ok());
  const int before = backend_.builds;
  CacheCounts counts;
  auto launchers = get(*open(), backend_, {adder("k2", 2), adder("k1", 1)}, &counts);
  ASSERT_TRUE(launchers.ok());
  EXPECT_EQ(add((*launchers)[0], 10), 12);
  EXPECT_EQ(backend_.builds, before);
  EXPECT_EQ(counts.from_disk, 2);
}

TEST_F(KernelCacheTest, BuildsOnlyTheNewKernelOfAKnownSet) {
  auto held = get(*open(), backend_, {adder("k1", 1), adder("k2", 2)});
  CacheCounts counts;
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1), adder("k3", 3)}, &counts).ok());
  EXPECT_EQ(counts.from_disk, 1);
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, AnotherIdentityIsAnotherKernel) {
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}).ok());
  TextBackend other;
  other.identity_ = "another compiler";
  CacheCounts counts;
  ASSERT_TRUE(get(*open(), other, {adder("k1", 1)}, &counts).ok());
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, KeepsTheSourceBesideTheBinary) {
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}).ok());
  EXPECT_THAT(scratch_.files(".so"), SizeIs(1));
  EXPECT_THAT(scratch_.files(".cc"), SizeIs(1));
  EXPECT_THAT(scratch_.files(".log"), SizeIs(0));
}

TEST_F(KernelCacheTest, ATruncatedFileIsBuiltAgain) {
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}).ok());
  const std::string file = scratch_.files(".so").at(0);
  fs::resize_file(file, fs::file_size(file) / 2);
  CacheCounts counts;
  auto launchers = get(*open(), backend_, {adder("k1", 1)}, &counts);
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  EXPECT_EQ(add((*launchers)[0], 10), 11);
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, AnAlteredFileIsBuiltAgain) {
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}).ok());
  const std::string file = scratch_.files(".so").at(0);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(600).put('\x7f');
  CacheCounts counts;
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}, &counts).ok());
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, AFailedBuildNamesTheLogThatSaysWhy) {
  EmittedKernel broken = adder("k1", 1);
  broken.text = "this is not C++";
  auto launchers = get(*open(), backend_, {broken});
  ASSERT_FALSE(launchers.ok());
  const std::string log = scratch_.files(".log").at(0);
  EXPECT_THAT(std::string(launchers.status().message()), HasSubstr(log));
  std::ifstream file(log);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("error"));
  EXPECT_THAT(scratch_.files(".so"), SizeIs(0));
}

TEST_F(KernelCacheTest, ARejectedKernelDoesNotTakeOthersWithIt) {
  std::vector<EmittedKernel> kernels;
  for (int i = 0; i < 9; ++i) kernels.push_back(adder(absl::StrCat("k", i), i));
  kernels[4].text = "this is not C++";
  kernels.push_back(kernels[4]);
  std::vector<const EmittedKernel*> wanted;
  for (const EmittedKernel& kernel : kernels) wanted.push_back(&kernel);
  CacheCounts counts;
  std::vector<Rejection> rejected;
  auto launchers = open()->get(backend_, wanted, &counts, &rejected);
  ASSERT_TRUE(launchers.ok()) << launchers.status();
  for (int i = 0; i < 9; ++i) {
    if (i == 4)
      EXPECT_EQ((*launchers)[4].function, nullptr);
    else
      EXPECT_EQ(add((*launchers)[static_cast<size_t>(i)], 10), 10 + i);
  }
  EXPECT_EQ((*launchers)[9].function, nullptr);
  EXPECT_EQ(counts.built, 8);
  ASSERT_THAT(rejected, SizeIs(1));
  EXPECT_EQ(rejected[0].kernel.name, "k4");
  std::ifstream log(rejected[0].log);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}), HasSubstr("this is not C++"));
}

TEST_F(KernelCacheTest, ACompilerThatRejectsEverythingBlamesNoKernel) {
  setenv("TORCHDYN_CXX", "/bin/false", 1);
  const EmittedKernel one = adder("k1", 1), two = adder("k2", 2);
  const EmittedKernel* kernels[] = {&one, &two};
  std::vector<Rejection> rejected;
  auto launchers = open()->get(backend_, kernels, nullptr, &rejected);
  unsetenv("TORCHDYN_CXX");
  EXPECT_TRUE(absl::IsUnavailable(launchers.status())) << launchers.status();
  EXPECT_THAT(rejected, SizeIs(0));
  EXPECT_EQ(backend_.builds, 2);  // the unit and the preamble
}

TEST_F(KernelCacheTest, AMissingCompilerRejectsNothing) {
  setenv("TORCHDYN_CXX", "/nonexistent/c++", 1);
  const EmittedKernel kernel = adder("k1", 1);
  const EmittedKernel* kernels[] = {&kernel};
  std::vector<Rejection> rejected;
  auto launchers = open()->get(backend_, kernels, nullptr, &rejected);
  unsetenv("TORCHDYN_CXX");
  EXPECT_TRUE(absl::IsNotFound(launchers.status())) << launchers.status();
  EXPECT_THAT(rejected, SizeIs(0));
}

TEST_F(KernelCacheTest, ABuildMayBeTriedAgainAfterAFailure) {
  auto cache = open();
  setenv("TORCHDYN_CXX", "/nonexistent/c++", 1);
  EXPECT_FALSE(get(*cache, backend_, {adder("k1", 1)}).ok());
  unsetenv("TORCHDYN_CXX");
  EXPECT_TRUE(get(*cache, backend_, {adder("k1", 1)}).ok());
}

TEST_F(KernelCacheTest, ADirectoryThatCannotBeWrittenIsDoneWithoutAndSaidOnce) {
  // A file where the directory should be: refuses root as well.
  const std::string blocked = scratch_.path() + "/file";
  std::ofstream(blocked) << "x";
  KernelCache cache(CacheDirectory(blocked + "/kernels", 100 * kMegabyte));
  aten_bridge::SaidCapture said;
  auto one = get(cache, backend_, {adder("k1", 1)});
  auto two = get(cache, backend_, {adder("k2", 2)});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(add((*one)[0], 10), 11);
  EXPECT_EQ(add((*two)[0], 10), 12);
  ASSERT_THAT(said.messages(), SizeIs(1));
  EXPECT_THAT(said.messages()[0], HasSubstr(blocked));
}

TEST_F(KernelCacheTest, AReadOnlyDirectoryStillServes) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes anywhere";
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1)}).ok());
  chmod(scratch_.path().c_str(), 0555);
  CacheCounts counts;
  auto launchers = get(*open(), backend_, {adder("k1", 1), adder("k2", 2)}, &counts);
  chmod(scratch_.path().c_str(), 0755);
  ASSERT_TRUE(launchers.ok());
  EXPECT_EQ(counts.from_disk, 1);
  EXPECT_EQ(counts.built, 1);
}

TEST_F(KernelCacheTest, ThreadsThatWantTheSameKernelBuildItOnce) {
  auto cache = open();
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      auto launchers = get(*cache, backend_, {adder("k1", 1), adder(absl::StrCat("own", i), i)});
      if (launchers.ok() && add((*launchers)[0], 10) == 11 && add((*launchers)[1], 10) == 10 + i)
        ++right;
    });
  threads.clear();
  EXPECT_EQ(right, 8);
  EXPECT_THAT(scratch_.files(".so"), SizeIs(::testing::Le(8u)));
}

TEST_F(KernelCacheTest, ProcessesMayBuildTheSameKernelAtTheSameTime) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      auto launchers = get(*open(), backend_, {adder("k1", 1), adder("k2", 2)});
      _exit(launchers.ok() && add((*launchers)[1], 10) == 12 ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(scratch_.files(".so"), SizeIs(1));
  CacheCounts counts;
  ASSERT_TRUE(get(*open(), backend_, {adder("k1", 1), adder("k2", 2)}, &counts).ok());
  EXPECT_EQ(counts.from_disk, 2);
}

TEST_F(KernelCacheTest, LeavesFilesOfOthersAlone) {
  const std::string theirs = scratch_.path() + "/notes.txt";
  std::ofstream(theirs) << std::string(1000, 'x');
  KernelCache tiny(CacheDirectory(scratch_.path(), 1));
  ASSERT_TRUE(get(tiny, backend_, {adder("k1", 1)}).ok());
  EXPECT_TRUE(fs::exists(theirs));
  EXPECT_THAT(scratch_.files(".so"), SizeIs(0));
}

TEST_F(KernelCacheTest, ForgetsWhatWasNotUsedForLongestBeyondTheLimit) {
  ASSERT_TRUE(get(*open(), backend_, {adder("old", 1)}).ok());
  const std::string old = scratch_.files(".so").at(0);
  const int64_t one = static_cast<int64_t>(fs::file_size(old));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  for (const std::string& source : scratch_.files(".cc"))
    fs::last_write_time(source, fs::file_time_type::clock::now() - std::chrono::hours(2));
  KernelCache small(CacheDirectory(scratch_.path(), one * 3 / 2));
  ASSERT_TRUE(get(small, backend_, {adder("young", 2)}).ok());
  EXPECT_FALSE(fs::exists(old));
  CacheCounts counts;
  ASSERT_TRUE(get(*open(), backend_, {adder("young", 2), adder("old", 1)}, &counts).ok());
  EXPECT_EQ(counts.from_disk, 1);
  EXPECT_EQ(counts.built, 1);
}

}  // namespace
}  // namespace inductor
