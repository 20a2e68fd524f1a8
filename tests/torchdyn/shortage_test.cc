#include "torchdyn/shortage.h"

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using torch::Tensor;

// Finds no memory in its first captures.
struct Short {
  int left;
  int captures = 0;

  Tensor operator()(const Tensor& x) {
    if (internal::capturing() && ++captures <= left) throw std::bad_alloc();
    return (x * 2).sin();
  }
};

struct ShortFor {
  using Function = std::function<Tensor(const Tensor&)>;
  explicit ShortFor(int captures, Options options = {})
      : function{captures},
        compiled(compile(Function([this](const Tensor& x) { return function(x); }), options)) {}

  Short function;
  const Tensor x = torch::ones({3});
  Compiled<Function> compiled;
};

TEST(Shortage, OfEachKindIsOne) {
  EXPECT_TRUE(is_shortage(std::bad_alloc()));
  EXPECT_TRUE(is_shortage(Shortage("no room on the disk")));
  EXPECT_TRUE(is_shortage(std::system_error(EAGAIN, std::generic_category())));
  EXPECT_FALSE(is_shortage(std::system_error(ENOENT, std::generic_category())));
  EXPECT_FALSE(is_shortage(std::runtime_error("another error")));
  EXPECT_TRUE(is_shortage(absl::ErrnoToStatus(EAGAIN, "cannot run g++")));
  EXPECT_TRUE(is_shortage(absl::ErrnoToStatus(ENOMEM, "cannot run g++")));
  EXPECT_TRUE(is_shortage(absl::ErrnoToStatus(ENOSPC, "cannot run g++")));
  EXPECT_FALSE(is_shortage(absl::ErrnoToStatus(ENOENT, "cannot run g++")));
  EXPECT_FALSE(is_shortage(absl::OkStatus()));
}

// Its text is LibTorch's own.
TEST(Shortage, IsWhatLibTorchsAllocatorMeets) {
  try {
    torch::empty({int64_t{1} << 55});
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_TRUE(is_shortage(error)) << error.what();
  }
}

TEST(Shortage, RunsOneCallInEager) {
  ShortFor one(1);
  EXPECT_TRUE(one.compiled(one.x).equal(one.function(one.x)));
  EXPECT_THAT(explain(one.compiled).variants, IsEmpty());
  EXPECT_THAT(explain(one.compiled).refusals, ElementsAre(HasSubstr("short now: std::bad_alloc")));
  one.compiled(one.x);
  ASSERT_EQ(explain(one.compiled).variants.size(), 1u);
  EXPECT_EQ(explain(one.compiled).variants[0].eager_reason, "");
  EXPECT_THAT(explain(one.compiled).recompile_reasons, IsEmpty());
}

// After 0, 1, 2, 4, ... calls that do not try.
TEST(Shortage, ThatLastsIsMetMoreAndMoreSeldom) {
  ShortFor ever(1000);
  for (int call = 0; call < 100; ++call) ever.compiled(ever.x);
  EXPECT_EQ(ever.function.captures, 8);
}

TEST(Shortage, IsAnErrorUnderFullgraphForThatCallAlone) {
  Options options;
  options.fullgraph = true;
  ShortFor one(1, options);
  EXPECT_THROW(one.compiled(one.x), CaptureFailure);
  one.compiled(one.x);
  EXPECT_EQ(explain(one.compiled).variants.size(), 1u);
}

}  // namespace
}  // namespace torchdyn
