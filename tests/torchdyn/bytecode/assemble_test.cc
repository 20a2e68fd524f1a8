#include "torchdyn/bytecode/assemble.h"

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"

#include "aten_bridge/base/str_cat.h"
#include "tests/support/golden.h"
#include "torchdyn/bytecode/disassemble.h"
#include "torchdyn/bytecode/exception_table.h"
#include "torchdyn/bytecode/text.h"

namespace torchdyn {
namespace {

using aten_bridge::str_append;
using aten_bridge::str_cat;

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    absl::StrAppendFormat(&text, "%s%02x", i % 32 == 0 ? "\n  " : " ",
                          static_cast<unsigned char>(bytes[i]));
  return text;
}

std::string show(const Assembled& a) {
  std::string text = str_cat("stack ", a.stack_size, "\ncode", hexadecimal(a.bytes.code));
  const auto rows = decode_exception_table(a.bytes.exception_table);
  for (const ExceptionRow& row : *rows)
    str_append(&text, "\nunits ", row.start, " to ", row.end, ": handler at ", row.target,
               " depth ", row.depth, row.keeps_index ? " index" : "");
  return str_cat(text, "\nlines", hexadecimal(a.bytes.line_table), "\n");
}

TEST(AssembleGolden, BytesOfEachVersion) {
  for (const auto& golden : testing::goldens("torchdyn/bytecode")) {
    const auto code = parse_bytecode(golden.section("bytecode"));
    ASSERT_TRUE(code.ok()) << golden.path << ": " << code.status();
    const auto made = assemble(*code);
    ASSERT_TRUE(made.ok()) << golden.path << ": " << made.status();
    testing::check(golden, show(*made));
    EXPECT_EQ(print_bytecode(*disassemble(made->bytes)), print_bytecode(*code)) << golden.path;
  }
}

Assembled made_of(const std::string& text) {
  const auto code = parse_bytecode(text);
  EXPECT_TRUE(code.ok()) << code.status();
  auto made = assemble(*code);
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(*made);
}

std::string error_of(const std::string& lines) {
  const auto code = parse_bytecode("bytecode 3.12 first_line 1\n" + lines);
  EXPECT_TRUE(code.ok()) << code.status();
  const auto made = assemble(*code);
  return made.ok() ? "none" : std::string(made.status().message());
}

// A jump over `nops` NOPs, in 3.12.
std::string jump_over(int nops) {
  std::string text = "bytecode 3.12 first_line 1\n JUMP_FORWARD L0\n";
  for (int i = 0; i < nops; ++i) text += " NOP\n";
  return text + "L0: RETURN_CONST 0\n";
}

TEST(Assemble, GivesAJumpAsManyPrefixesAsItsDistanceNeeds) {
  EXPECT_EQ(made_of(jump_over(255)).bytes.code.size(), 2u * 257);
  EXPECT_EQ(made_of(jump_over(256)).bytes.code.size(), 2u * 259);
  EXPECT_EQ(made_of(jump_over(65536)).bytes.code.size(), 2u * 65540);
}

TEST(Assemble, AJumpThatGrowsMakesOthersGrow) {
  std::string text = "bytecode 3.12 first_line 1\n JUMP_FORWARD L0\n JUMP_FORWARD L1\n";
  for (int i = 0; i < 254; ++i) text += " NOP\n";
  text += "L0: NOP\n";
  for (int i = 0; i < 10; ++i) text += " NOP\n";
  const Assembled made = made_of(text + "L1: RETURN_CONST 0\n");
  EXPECT_EQ(made.bytes.code.size(), 2u * (2 + 2 + 254 + 11 + 1));
  EXPECT_EQ(print_bytecode(*disassemble(made.bytes)),
            print_bytecode(*parse_bytecode(text + "L1: RETURN_CONST 0\n")));
}

TEST(Assemble, WritesArgumentsOfFourBytes) {
  const Assembled made =
      made_of("bytecode 3.13 first_line 1\n LOAD_CONST 16909060\n RETURN_VALUE\n");
  EXPECT_EQ(hexadecimal(made.bytes.code), "\n  47 01 47 02 47 03 53 04 24 00");
}

TEST(Assemble, NeighboursWithOneHandlerAreOneRow) {
  const Assembled made = made_of(
      "bytecode 3.12 first_line 1\n"
      "handler H0 -> L0 depth 0\n"
      "handler H1 -> L0 depth 0\n"
      " NOP !H0\n NOP !H0\n NOP !H1\n NOP\n NOP !H1\n RETURN_CONST 0\n"
      "L0: RERAISE 0\n");
  std::vector<std::pair<int, int>> ranges;
  const auto rows = decode_exception_table(made.bytes.exception_table);
  for (const ExceptionRow& row : *rows) ranges.emplace_back(row.start, row.end);
  EXPECT_EQ(ranges, (std::vector<std::pair<int, int>>{{0, 2}, {2, 3}, {4, 5}}));
}

TEST(Assemble, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(" PRECALL 0\n RETURN_CONST 0\n"),
            "PRECALL of CPython 3.12: there is no such opcode");
  EXPECT_EQ(error_of("L0: NOP\n JUMP_FORWARD L0\n"),
            "JUMP_FORWARD of CPython 3.12: the target lies in the other direction");
  EXPECT_EQ(error_of(" NOP\n"), "the code runs past its end");
  EXPECT_EQ(error_of(" POP_TOP\n RETURN_CONST 0\n"), "the stack is empty before RETURN_CONST");
  EXPECT_EQ(error_of("L0: LOAD_CONST 0\n JUMP_BACKWARD L0\n"),
            "the stack is 0 or 1 high at LOAD_CONST");
}

TEST(Disassemble, SaysWhatIsWrong) {
  const auto error = [](const std::string& code) {
    const auto made = disassemble({.version = PythonVersion::k3_12, .code = code});
    return made.ok() ? "none" : std::string(made.status().message());
  };
  EXPECT_EQ(error(std::string("\xff\x00", 2)), "opcode 255 at unit 0 is none of CPython 3.12");
  EXPECT_EQ(error(std::string("\x6e\x05", 2)),
            "JUMP_FORWARD jumps to unit 6, where no instruction begins");
  EXPECT_EQ(error(std::string("\x90\x01", 2)), "the code ends within an instruction");
}

}  // namespace
}  // namespace torchdyn
