#include "inductor/schedule/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/text.h"

namespace inductor {
namespace {

using ::testing::HasSubstr;

// Whether a loop that writes buf[written] over i0, i1 and one that reads buf[read] over i0, i2 may
// merge over i0; i0 < 8, i1 and i2 < 16.
Verdict may_merge(const std::string& written, const std::string& read) {
  auto program = parse_loops(aten_bridge::str_cat(
      "loops 1 f(ids: i64[16]) -> y {\n  buf: f32[4096]\n  y: f32[128] output\n  for i0 < 8\n    "
      "for i1 < 16\n"
      "      buf[",
      written, "] = 1:f32\n  for i0 < 8\n    for i2 < 16\n      y[16*i0 + i2] = buf[", read,
      "]\n}\n"));
  EXPECT_TRUE(program.ok()) << program.status();
  Extents extents;
  add_extents(program->body, extents);
  return share_iterations(accesses(program->body[0]), accesses(program->body[1]), {'i', 0}, extents,
                          *program);
}

TEST(ShareIterations, YesWhereEachIterationReadsItsOwnRow) {
  EXPECT_TRUE(may_merge("16*i0 + i1", "16*i0 + i2"));
  EXPECT_TRUE(may_merge("32*i0 + i1 + 5", "32*i0 + i2 + 21"));
}

TEST(ShareIterations, NoWhereARowReachesIntoTheNext) {
  EXPECT_THAT(may_merge("16*i0 + i1", "16*i0 + i2 + 1").reason(), HasSubstr("another's elements"));
  EXPECT_THAT(may_merge("15*i0 + i1", "15*i0 + i2").reason(), HasSubstr("another's elements"));
}

TEST(ShareIterations, NoWhereTheReaderWalksTheOtherWay) {
  EXPECT_THAT(may_merge("16*i0 + i1", "i0 + 8*i2").reason(), HasSubstr("different steps"));
}

TEST(ShareIterations, NoWhereEveryIterationUsesTheSameElements) {
  EXPECT_THAT(may_merge("i1", "i2").reason(), HasSubstr("the same elements"));
}

TEST(ShareIterations, YesWhereAColumnReadAtRunTimeStaysInTheRow) {
  EXPECT_TRUE(may_merge("16*i0 + i1", "16*i0 + t0; minimum(maximum(ids[i2], 0:i64), 15:i64)"));
  EXPECT_FALSE(may_merge("16*i0 + i1", "16*i0 + t0; minimum(maximum(ids[i2], 0:i64), 16:i64)"));
  EXPECT_FALSE(may_merge("16*i0 + i1", "16*t0 + i2; minimum(maximum(ids[i2], 0:i64), 7:i64)"));
}

TEST(ShareIterations, NoWhereAnIndexIsNotLinear) {
  EXPECT_THAT(may_merge("16*floor_div(i0, 2) + i1", "16*i0 + i2").reason(),
              HasSubstr("not linear"));
}

TEST(Conflict, DisjointWritesMayChangePlacesAndScattersMayNot) {
  EXPECT_FALSE(conflict(AccessKind::kWrite, AccessKind::kWrite));
  EXPECT_FALSE(conflict(AccessKind::kRead, AccessKind::kRead));
  EXPECT_TRUE(conflict(AccessKind::kWrite, AccessKind::kRead));
  EXPECT_TRUE(conflict(AccessKind::kScatter, AccessKind::kWrite));
  EXPECT_TRUE(conflict(AccessKind::kScatter, AccessKind::kScatter));
}

}  // namespace
}  // namespace inductor
