#include "torchdyn/bytecode/text.h"

#include <gtest/gtest.h>

namespace torchdyn {
namespace {

std::string error_of(const std::string& text) {
  const auto code = parse_bytecode(text);
  return code.ok() ? "none" : std::string(code.status().message());
}

TEST(BytecodeText, RoundTripsWhatAnInstructionHolds) {
  const std::string text =
      "bytecode 3.13 first_line 7\n"
      "handler H0 -> L1 depth 2 index\n"
      "      RESUME 0                           @7\n"
      "L0:   LOAD_FAST 300                      @8:4-9:? !H0\n"
      "      POP_JUMP_IF_TRUE L0 +1\n"
      "L1:   CALL_INTRINSIC_1 3\n"
      "      RETURN_VALUE\n";
  const auto code = parse_bytecode(text);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(print_bytecode(*code), text);
}

TEST(BytecodeText, NotesAreForPeople) {
  const auto code = parse_bytecode("bytecode 3.11 first_line 1\n LOAD_CONST 0  # 'a # b'\n");
  ASSERT_TRUE(code.ok()) << code.status();
  const std::string text = print_bytecode(*code, [](const Instruction&) { return "'x'"; });
  EXPECT_NE(text.find("LOAD_CONST 0 "), text.npos);
  EXPECT_NE(text.find(" # 'x'\n"), text.npos);
  EXPECT_TRUE(parse_bytecode(text).ok());
}

TEST(BytecodeText, SaysWhichLineIsWrong) {
  EXPECT_EQ(error_of(""), "line 1: no version");
  EXPECT_EQ(error_of("bytecode 3.9 first_line 1\n"),
            "line 1: 'bytecode VERSION first_line NUMBER' comes first");
  const std::string head = "bytecode 3.12 first_line 1\n";
  EXPECT_EQ(error_of(head + " FLY 1\n"), "line 2: a line names no opcode");
  EXPECT_EQ(error_of(head + " NOP\n LOAD_FAST x\n"), "line 3: 'x' is no argument");
  EXPECT_EQ(error_of(head + " NOP !H1\n"), "line 2: no handler is !H1");
  EXPECT_EQ(error_of(head + " JUMP_FORWARD\n"), "line 2: a jump without a target");
  EXPECT_EQ(error_of(head + " JUMP_FORWARD L9"), "line 2: no instruction is labelled L9");
  EXPECT_EQ(error_of(head + " NOP @1:2\n"), "line 2: '1:2' is no number");
}

}  // namespace
}  // namespace torchdyn
