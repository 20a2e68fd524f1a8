#include "aten_bridge/base/once.h"

#include <thread>

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

using Messages = std::vector<std::string>;

TEST(SayOnce, SaysAKeyOnce) {
  SaidCapture said;
  say_once("a", "first");
  say_once("a", "second");
  say_once("b", "other");
  EXPECT_EQ(said.messages(), (Messages{"first", "other"}));
}

TEST(SayOnce, ACaptureForgetsWhatWasSaidBeforeIt) {
  for (int i = 0; i < 2; ++i) {
    SaidCapture said;
    say_once("a", "again");
    EXPECT_EQ(said.messages(), Messages{"again"});
  }
}

TEST(SayOnce, ThreadsSayItOnceTogether) {
  SaidCapture said;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { say_once("a", "message"); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(said.messages().size(), 1u);
}

TEST(SayOnce, GoesToStderr) {
  testing::internal::CaptureStderr();
  say_once("goes to stderr", "hello");
  say_once("goes to stderr", "hello");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "torchdyn: hello\n");
}

}  // namespace
}  // namespace aten_bridge
