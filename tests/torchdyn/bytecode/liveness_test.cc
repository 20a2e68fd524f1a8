#include "torchdyn/bytecode/liveness.h"

#include <gtest/gtest.h>

#include "torchdyn/bytecode/text.h"

namespace torchdyn {
namespace {

// What is live before each instruction of these lines, of a frame of four slots, the last one free.
std::vector<std::vector<int>> live(const std::string& lines, const std::string& version = "3.13") {
  const auto code = parse_bytecode("bytecode " + version + " first_line 1\n" + lines);
  EXPECT_TRUE(code.ok()) << code.status();
  const Liveness liveness(*code, {.slots = 4, .free = 1});
  std::vector<std::vector<int>> rows;
  for (const Instruction& i : code->instructions) rows.push_back(liveness.before(i));
  return rows;
}

using Rows = std::vector<std::vector<int>>;

TEST(Liveness, AWriteEndsWhatWasBefore) {
  EXPECT_EQ(live(" LOAD_FAST 0\n STORE_FAST 1\n LOAD_FAST 1\n RETURN_VALUE\n"),
            (Rows{{0}, {}, {1}, {}}));
}

TEST(Liveness, EitherBranchCounts) {
  EXPECT_EQ(live(" LOAD_FAST 0\n POP_JUMP_IF_TRUE L0\n LOAD_FAST 1\n RETURN_VALUE\n"
                 "L0: LOAD_FAST 2\n RETURN_VALUE\n"),
            (Rows{{0, 1, 2}, {1, 2}, {1}, {}, {2}, {}}));
}

TEST(Liveness, ALoopNeedsWhatItsNextRoundReads) {
  EXPECT_EQ(live("L0: LOAD_FAST 0\n STORE_FAST 1\n JUMP_BACKWARD L0\n"), (Rows{{0}, {0}, {0}}));
}

TEST(Liveness, AHandlerMayReadWhatTheInstructionWrites) {
  EXPECT_EQ(live("handler H0 -> L0 depth 0\n"
                 " LOAD_CONST 0\n STORE_FAST 1 !H0\n RETURN_CONST 0\n"
                 "L0: POP_TOP\n LOAD_FAST 1\n RETURN_VALUE\n"),
            (Rows{{1}, {1}, {}, {1}, {1}, {}}));
}

TEST(Liveness, TwoSlotsOfOneInstruction) {
  // 0x12: slot 1, then slot 2.
  EXPECT_EQ(live(" LOAD_FAST_LOAD_FAST 18\n RETURN_VALUE\n"), (Rows{{1, 2}, {}}));
  EXPECT_EQ(live(" LOAD_CONST 0\n STORE_FAST_LOAD_FAST 18\n RETURN_VALUE\n"), (Rows{{2}, {2}, {}}));
  EXPECT_EQ(live(" LOAD_CONST 0\n STORE_FAST_LOAD_FAST 17\n RETURN_VALUE\n"), (Rows{{}, {}, {}}));
}

TEST(Liveness, FreeVariablesComeIntoTheFrame) {
  EXPECT_EQ(live(" COPY_FREE_VARS 1\n LOAD_DEREF 3\n RETURN_VALUE\n"), (Rows{{}, {3}, {}}));
}

TEST(Liveness, AVariableThatIsDeletedWasNeeded) {
  EXPECT_EQ(live(" DELETE_FAST 0\n LOAD_FAST 0\n RETURN_VALUE\n"), (Rows{{0}, {0}, {}}));
}

TEST(Liveness, ACellIsNeededByWhatWritesToIt) {
  EXPECT_EQ(live(" MAKE_CELL 2\n LOAD_CONST 0\n STORE_DEREF 2\n RETURN_CONST 0\n"),
            (Rows{{2}, {2}, {2}, {}}));
}

}  // namespace
}  // namespace torchdyn
