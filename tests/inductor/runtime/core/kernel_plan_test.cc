#include "inductor/runtime/core/kernel_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inductor {
namespace {

using ::testing::HasSubstr;

constexpr char kPlan[] = R"(plan 1 forward(arg0, arg1) -> buf2, none, buf3[4, 8]{1, 4} + 16 {
  arg0: f32[8, 128] input
  arg1: f32[128, 8]{1, 128} input
  buf0: f32[8] arena 0
  buf1: f32[8] arena 64
  buf2: f32[8, 128] owned
  buf3: f32[8, 8] extern
  arena 128
  allocate buf2
  launch softmax_7f3a91c2(arg0, buf0, buf1, buf2)
  launch scale_11aa(buf2; s0, 2*s0 + 1)
  launch row_22bb(buf2) on 4096 blocks of 256
  launch tail_33cc(buf2; s0) on 2*s0 + 1 blocks of 32
  call buf3 = aten::mm(self=buf2, mat2=arg1)
  release arg0
  release arg1
}
)";

KernelPlan parsed(const std::string& text) {
  auto plan = parse_plan(text);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : KernelPlan{};
}

// The plan with one piece of its text replaced.
absl::Status verified(const std::string& from, const std::string& to) {
  std::string text = kPlan;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  return verify(parsed(text));
}

TEST(KernelPlanText, RoundTrips) { EXPECT_EQ(print(parsed(kPlan)), kPlan); }

TEST(KernelPlanText, RoundTripsWithoutAnything) {
  constexpr char kEmpty[] = "plan 1 empty() ->  {\n  arena 0\n}\n";
  EXPECT_EQ(print(parsed(kEmpty)), kEmpty);
}

constexpr char kWithHostValues[] = R"(plan 1 draw(arg0) -> buf1 {
  arg0: i64[2] input
  buf0: i64[2] extern
  buf1: f32[8]@cuda:0 owned
  arena 0
  call buf0 = torchdyn::philox_state(increment=4, aligned=tensor[], device=@cuda:0)
  allocate buf1
  launch draw_11aa(buf1; 8) with arg0, buf0 on 1 blocks of 32
  release arg0
  release buf0
}
)";

TEST(KernelPlanText, RoundTripsWithWhatIsPassedByItsContents) {
  EXPECT_EQ(print(parsed(kWithHostValues)), kWithHostValues);
  EXPECT_TRUE(verify(parsed(kWithHostValues)).ok());
}

TEST(KernelPlanVerify, FindsDeviceMemoryThatIsPassedByItsContents) {
  std::string text = kWithHostValues;
  text.replace(text.find("with arg0, buf0"), 15, "with arg0, buf1");
  EXPECT_THAT(std::string(verify(parsed(text)).message()), HasSubstr("yet not the host's"));
}

TEST(KernelPlanText, RefusesAnotherVersion) { EXPECT_FALSE(parse_plan("plan 2 f() -> {").ok()); }

TEST(KernelPlanText, NamesWhatItDoesNotKnow) {
  auto plan = parse_plan("plan 1 f(arg0) ->  {\n  arg0: f32[] input\n  arena 0\n  release x\n}\n");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("x"));
}

TEST(KernelPlanVerify, AcceptsAPlanThatKeepsTheLaw) {
  EXPECT_TRUE(verify(parsed(kPlan)).ok()) << verify(parsed(kPlan));
}

TEST(KernelPlanVerify, FindsAUseBeforeTheMemory) {
  EXPECT_FALSE(verified("  allocate buf2\n", "").ok());
}

TEST(KernelPlanVerify, FindsAUseAfterTheRelease) {
  EXPECT_FALSE(verified("  launch softmax", "  release arg0\n  launch softmax").ok());
}

TEST(KernelPlanVerify, FindsAReturnedBufferThatIsReleased) {
  EXPECT_FALSE(verified("  release arg0", "  release buf2\n  release arg0").ok());
}

TEST(KernelPlanVerify, FindsLiveBuffersThatOverlap) {
  EXPECT_THAT(std::string(verified("arena 64", "arena 16").message()), HasSubstr("overlaps"));
}

TEST(KernelPlanVerify, FindsABufferOutsideTheArena) {
  EXPECT_FALSE(verified("arena 128", "arena 80").ok());
}

TEST(KernelPlanVerify, FindsAnOutputInTheArena) {
  EXPECT_FALSE(verified("-> buf2, none", "-> buf0, none").ok());
}

TEST(KernelPlanVerify, FindsABlockOfTooManyThreads) {
  EXPECT_THAT(std::string(verified("blocks of 256", "blocks of 2048").message()),
              HasSubstr("row_22bb on 4096 blocks of 2048"));
}

TEST(KernelPlanVerify, FindsBlocksWithoutThreads) {
  EXPECT_FALSE(verified("blocks of 256", "blocks of 0").ok());
}

TEST(KernelPlanVerify, FindsANegativeNumberOfBlocks) {
  EXPECT_FALSE(verified("on 4096", "on -1").ok());
}

}  // namespace
}  // namespace inductor
