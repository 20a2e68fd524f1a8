#include "inductor/backend/process.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/inductor/cache/text_backend.h"

namespace inductor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Process : public ::testing::Test {
 protected:
  std::string words() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchDirectory scratch_;
  std::string log_ = scratch_.path() + "/log";
};

TEST_F(Process, PassesArgumentsAsTheyAre) {
  ASSERT_EQ(run_process({"printf", "%s|%s", "a b", "$HOME"}, log_, seconds(10)).value(), 0);
  EXPECT_EQ(words(), "a b|$HOME");
}

TEST_F(Process, TellsTheExitCodeAndKeepsTheErrors) {
  EXPECT_EQ(run_process({"sh", "-c", "echo wrong >&2; exit 3"}, log_, seconds(10)).value(), 3);
  EXPECT_EQ(words(), "wrong\n");
}

TEST_F(Process, TellsTheSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, log_, seconds(10)).value(), 128 + 9);
}

TEST_F(Process, SaysWhenThereIsNoSuchProgram) {
  EXPECT_FALSE(run_process({"/nonexistent/program"}, log_, seconds(10)).ok());
}

TEST_F(Process, KillsWhatRunsTooLongWithItsChildren) {
  const auto start = std::chrono::steady_clock::now();
  auto code = run_process({"sh", "-c", "sleep 30 & sleep 30"}, log_, milliseconds(100));
  EXPECT_EQ(code.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

}  // namespace
}  // namespace inductor
