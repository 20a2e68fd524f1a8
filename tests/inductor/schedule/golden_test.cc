#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "inductor/ir/text.h"
#include "inductor/schedule/schedule.h"

namespace inductor {
namespace {

TEST(ScheduleGolden, EachPattern) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/schedule")) {
    auto program = parse_loops(golden.section("loops"));
    ASSERT_TRUE(program.ok()) << golden.path << ": " << program.status();
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    const std::vector<FusionNote> notes = schedule(*program, Features());
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    std::string text = print(*program);
    for (const FusionNote& n : notes)
      text += "not fused: " + n.first + " | " + n.second + ": " + n.reason + "\n";
    torchdyn::testing::check(golden, text);
  }
}

}  // namespace
}  // namespace inductor
