#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/ir/text.h"
#include "inductor/schedule/schedule.h"

namespace inductor {
namespace {

void check_all(std::string_view folder, const Features& features) {
  for (const auto& golden : torchdyn::testing::goldens(folder)) {
    auto program = parse_loops(golden.section("loops"));
    ASSERT_TRUE(program.ok()) << golden.path << ": " << program.status();
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    const std::vector<FusionNote> notes = schedule(*program, features);
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    std::string text = print(*program);
    for (const FusionNote& n : notes)
      text += "not fused: " + n.first + " | " + n.second + ": " + n.reason + "\n";
    torchdyn::testing::check(golden, text);
  }
}

TEST(ScheduleGolden, EachPattern) { check_all("inductor/schedule", Features()); }

TEST(ScheduleGolden, EachPatternForCuda) { check_all("inductor/schedule_cuda", cuda_features()); }

}  // namespace
}  // namespace inductor
