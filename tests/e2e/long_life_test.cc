// Programs that live long, fork, or end in the middle of something.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using torch::Tensor;

struct Held {
  size_t bytes;  // allocated and not freed
  int64_t files, threads;
  static Held now() {
    const auto count = [](const char* folder) {
      return std::distance(std::filesystem::directory_iterator(folder), {});
    };
    return {mallinfo2().uordblks + mallinfo2().hblkhd, count("/proc/self/fd"),
            count("/proc/self/task")};
  }
};

// Less than half of what one allocation takes, for each of the calls since `before`.
void expect_no_more(const Held& before, size_t calls) {
  const Held after = Held::now();
  EXPECT_LT(after.bytes, before.bytes + 16 * calls);
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.threads, before.threads);
}

Tensor function(const Tensor& x, const Tensor& w) { return (x.mm(w).tanh() * x.sum()).square(); }

Tensor normal(at::IntArrayRef sizes) { return torch::randn(sizes).to(test_device()); }

TEST(LongLife, TenThousandCallsHoldNoMoreThanAThousand) {
  auto compiled = compile(function);
  const Tensor x = normal({8, 16}), w = normal({16, 16}).requires_grad_();
  const auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) compiled(x, w).sum().backward();
  };
  calls(1000);
  const Held before = Held::now();
  calls(10000);
  expect_no_more(before, 10000);
  EXPECT_EQ(explain(compiled).variants.size(), 1u);
}

TEST(LongLife, AThousandCapturesHoldNoMoreThanAHundred) {
  const Tensor x = normal({8, 16}), w = normal({16, 16}).requires_grad_();
  const auto captures = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto compiled = compile(function);
      compiled(x, w).sum().backward();
    }
  };
  captures(100);
  const Held before = Held::now();
  captures(1000);
  expect_no_more(before, 1000);
}

// A child has the parent's variants, and makes its own.
TEST(LongLife, AForkedChildGoesOn) {
  if (!test_device().is_cpu()) GTEST_SKIP() << "CUDA does not survive a fork";
  auto compiled = compile(function);
  const Tensor w = normal({4, 4});
  compiled(normal({3, 4}), w);
  const pid_t child = fork();
  if (child == 0) {
    bool same = true;
    for (int64_t rows : {3, 5}) {
      const Tensor x = normal({rows, 4});
      same &= torch::allclose(compiled(x, w), function(x, w), 1e-4, 1e-5);
    }
    const auto explanation = explain(compiled);
    _exit(same && explanation.variants.size() == 2 && explanation.refusals.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// exit() runs destructors of statics while a thread waits for the host compiler.
TEST(LongLife, AProcessMayEndWhileSomethingIsCompiled) {
  if (!test_device().is_cpu()) GTEST_SKIP() << "its death test forks, which CUDA does not survive";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_early = [] {
    char folder[] = "/tmp/torchdyn-test-XXXXXX";
    setenv("TORCHDYN_CACHE_DIR", mkdtemp(folder), 1);
    static std::atomic<bool> done = false;
    std::thread([] {
      compile(function)(torch::randn({6, 7}), torch::randn({7, 7}));
      done = true;
    }).detach();
    // The text of the kernels is there, what they are built into is not.
    while (std::filesystem::is_empty(folder)) std::this_thread::yield();
    const bool in_flight = !done;
    std::error_code ignored;  // the compiler writes meanwhile
    std::filesystem::remove_all(folder, ignored);
    std::exit(in_flight ? 0 : 2);
  };
  EXPECT_EXIT(end_early(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace torchdyn
