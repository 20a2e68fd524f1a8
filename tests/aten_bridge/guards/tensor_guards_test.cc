#include "aten_bridge/guards/tensor_guards.h"

#include <optional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

namespace aten_bridge {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

std::vector<std::string> names(size_t n) {
  std::vector<std::string> result;
  for (size_t i = 0; i < n; ++i) result.push_back("t" + std::to_string(i));
  return result;
}

InputGuards record(const Tensors& tensors, size_t first_state = InputGuards::kNoState) {
  return InputGuards::record(tensors, names(tensors.size()), first_state);
}

TEST(InputGuards, TakeOtherTensorsOfTheSameKind) {
  const auto guards = record({at::zeros({2, 3}), at::zeros({4}, at::kLong)});
  EXPECT_TRUE(guards.check(Tensors{at::ones({2, 3}), at::ones({4}, at::kLong)}));
}

TEST(InputGuards, RefuseAnotherNumberOfTensors) {
  const Tensor x = at::zeros({2});
  const auto guards = record({x});
  EXPECT_FALSE(guards.check(Tensors{x, x}));
  EXPECT_EQ(guards.explain_failure(Tensors{}), "0 input tensors, were 1");
}

TEST(InputGuards, RefuseAnUndefinedTensor) {
  const auto guards = record({at::zeros({2})});
  EXPECT_FALSE(guards.check(Tensors{Tensor()}));
  EXPECT_THAT(guards.explain_failure(Tensors{Tensor()}), testing::HasSubstr("t0: dispatch keys"));
}

TEST(InputGuards, RefuseAnInferenceTensor) {
  const auto guards = record({at::zeros({2})});
  Tensor x;
  {
    const c10::InferenceMode inference;
    x = at::zeros({2});
  }
  EXPECT_FALSE(guards.check(Tensors{x}));
}

TEST(InputGuards, NameARankThatChanged) {
  const auto guards = record({at::zeros({2, 3})});
  EXPECT_EQ(guards.explain_failure(Tensors{at::zeros({6})}), "t0: size is [6], was [2, 3]");
}

TEST(InputGuards, DescribeOneLineAGuard) {
  const auto lines = record({at::zeros({2, 3}), at::zeros({1})}, 1).describe();
  EXPECT_THAT(
      lines, testing::IsSupersetOf({"grad mode: on", "t0: dtype: Float", "t0: size: [2, 3]",
                                    "t0: stride: [3, 1]", "memory shared among the inputs: none"}));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("t1: handles: ")));
  EXPECT_THAT(lines, testing::Not(testing::Contains(testing::StartsWith("t0: handles: "))));
}

TEST(InputGuards, WantMemorySharedAsAtCapture) {
  const Tensor whole = at::zeros({8});
  const auto guards = record({whole, whole.narrow(0, 2, 4)});
  EXPECT_TRUE(guards.check(Tensors{whole, whole.narrow(0, 2, 4)}));
  EXPECT_FALSE(guards.check(Tensors{whole, whole.narrow(0, 3, 4)}));
  EXPECT_FALSE(guards.check(Tensors{whole, at::zeros({4})}));
}

TEST(InputGuards, LetPartsOfOneStorageLieApart) {
  const Tensor whole = at::zeros({8});
  const auto guards = record({at::zeros({4}), at::zeros({4})});
  EXPECT_TRUE(guards.check(Tensors{whole.narrow(0, 0, 4), whole.narrow(0, 4, 4)}));
}

TEST(InputGuards, CountEmptyTensorsAsApart) {
  const Tensor whole = at::zeros({8});
  const auto guards = record({at::zeros({8}), at::zeros({0})});
  EXPECT_TRUE(guards.check(Tensors{whole, whole.narrow(0, 3, 0)}));
}

// A module with one buffer: a registered handle and a member, as torch::nn::Module keeps them.
struct Buffer {
  Tensor registered = at::zeros({3}), member = registered;
};

TEST(HandlesGuard, SeesAMemberThatWasGivenAnotherTensor) {
  Buffer buffer;
  const auto guards = record({buffer.registered}, 0);
  EXPECT_TRUE(guards.check(Tensors{buffer.registered}));
  buffer.member = at::ones({3});
  EXPECT_FALSE(guards.check(Tensors{buffer.registered}));
}

TEST(HandlesGuard, LeavesArgumentsAlone) {
  Buffer buffer;
  const auto guards = record({buffer.registered});
  buffer.member.reset();
  EXPECT_TRUE(guards.check(Tensors{buffer.registered}));
}

TEST(HandlesGuard, DoesNotMindMoreHandles) {
  Buffer buffer;
  const auto guards = record({buffer.registered}, 0);
  const Tensor another = buffer.registered;
  EXPECT_TRUE(guards.check(Tensors{buffer.registered}));
}

TEST(HandlesGuard, DoesNotCountTheAccumulatorOfAnEarlierGraph) {
  Buffer buffer;
  buffer.registered.set_requires_grad(true);
  std::optional<InputGuards> guards;
  {
    const Tensor graph =
        buffer.registered.clone();  // holds the accumulator, which holds the tensor
    ASSERT_NE(torch::autograd::impl::try_get_grad_accumulator(buffer.registered), nullptr);
    guards = record({buffer.registered}, 0);
  }
  EXPECT_TRUE(guards->check(Tensors{buffer.registered}));
}

TEST(HandlesGuard, FiresOnceForAHandleThatWasHeldAtCapture) {
  Buffer buffer;
  Tensor saved = buffer.registered;
  const auto first = record({buffer.registered}, 0);
  saved.reset();
  EXPECT_FALSE(first.check(Tensors{buffer.registered}));
  const auto second = record({buffer.registered}, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(second.check(Tensors{buffer.registered}));
    saved = buffer.registered;
    EXPECT_TRUE(second.check(Tensors{buffer.registered}));
    saved.reset();
  }
}

}  // namespace
}  // namespace aten_bridge
