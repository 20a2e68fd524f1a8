#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include "inductor/emit/emit.h"
#include "inductor/ir/text.h"

namespace inductor {
namespace {

using Emit = EmittedKernel (*)(const LoopProgram&, const Kernel&);

void check_all(std::string_view folder, Emit emit) {
  for (const auto& golden : torchdyn::testing::goldens(folder)) {
    auto program = parse_loops(golden.section("loops"));
    ASSERT_TRUE(program.ok()) << golden.path << ": " << program.status();
    EXPECT_TRUE(verify(*program).ok()) << golden.path << ": " << verify(*program);
    std::string text;
    for (const Stmt& stmt : program->body) {
      const EmittedKernel kernel = emit(*program, std::get<Kernel>(stmt));
      text += kernel.text;
      if (kernel.shape.threads > 0)
        text += "// on " + kernel.shape.blocks.str() + " blocks of " +
                std::to_string(kernel.shape.threads) + "\n";
    }
    torchdyn::testing::check(golden, text);
  }
}

TEST(EmitGolden, EachPattern) { check_all("inductor/emit", emit_cpp); }

TEST(EmitGolden, EachPatternForCuda) { check_all("inductor/emit_cuda", emit_cuda); }

}  // namespace
}  // namespace inductor
