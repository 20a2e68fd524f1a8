#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "inductor/emit/emit.h"
#include "inductor/ir/text.h"

namespace inductor {
namespace {

TEST(EmitGolden, EachPattern) {
  for (const auto& golden : torchdyn::testing::goldens("inductor/emit")) {
    auto program = parse_loops(golden.section("loops"));
    ASSERT_TRUE(program.ok()) << golden.path << ": " << program.status();
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    std::string text;
    for (const Stmt& stmt : program->body) text += emit_cpp(*program, std::get<Kernel>(stmt)).text;
    torchdyn::testing::check(golden, text);
  }
}

}  // namespace
}  // namespace inductor
