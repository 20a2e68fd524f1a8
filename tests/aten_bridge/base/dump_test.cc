#include "aten_bridge/base/dump.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/base/once.h"

namespace aten_bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::filesystem::path fresh_directory(const char* name) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(Dump, WantsWhatIsNamed) {
  const Dumper dumper(" graph, kernel ,", "");
  EXPECT_TRUE(dumper.wanted(DumpStage::kGraph));
  EXPECT_TRUE(dumper.wanted(DumpStage::kKernel));
  EXPECT_FALSE(dumper.wanted(DumpStage::kLoops));
  EXPECT_FALSE(Dumper("", "").wanted(DumpStage::kGraph));
  EXPECT_TRUE(Dumper("all", "").wanted(DumpStage::kPlan));
}

TEST(Dump, AWrongNameIsToldWithTheValidOnesAndTheRestStillWorks) {
  SaidCapture said;
  const Dumper dumper("grahp,loops", "");
  EXPECT_TRUE(dumper.wanted(DumpStage::kLoops));
  EXPECT_THAT(
      said.messages(),
      ElementsAre("TORCHDYN_DUMP: there is no stage \"grahp\"; the stages are graph, joint, "
                  "forward, backward, loops, schedule, plan, kernel, timing, all, help"));
}

TEST(Dump, HelpPrintsTheTable) {
  SaidCapture said;
  const Dumper dumper("help", "");
  EXPECT_THAT(said.messages(), ElementsAre(dump_help()));
  EXPECT_THAT(dump_help(), HasSubstr("\n  loops     the loop program"));
  EXPECT_FALSE(dumper.wanted(DumpStage::kGraph));
}

TEST(Dump, WritesNumberedFilesAndNeverOneTwice) {
  const auto directory = fresh_directory("torchdyn_dump");
  Dumper dumper("all", directory / "below");
  dumper.write(DumpStage::kForward, "", "one");
  dumper.write(DumpStage::kForward, "", "two");
  dumper.write(DumpStage::kKernel, "soft/max.cpp", "three");
  dumper.write(DumpStage::kKernel, "soft/max.cpp", "four");
  EXPECT_EQ(read(directory / "below/40_forward.txt"), "one");
  EXPECT_EQ(read(directory / "below/40_forward.2.txt"), "two");
  EXPECT_EQ(read(directory / "below/70_kernel_soft_max.cpp"), "three");
  EXPECT_EQ(read(directory / "below/70_kernel_soft_max.2.cpp"), "four");
}

TEST(Dump, WhereTheDirectoryCannotBeWrittenItGoesToStderr) {
  SaidCapture said;
  Dumper dumper("all", "/dev/null/nowhere");
  testing::internal::CaptureStderr();
  dumper.write(DumpStage::kGraph, "f", "text");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "--- graph f\ntext\n");
  EXPECT_THAT(said.messages(), ElementsAre(HasSubstr("cannot write /dev/null/nowhere/10_graph_f")));
}

TEST(Dump, MakesNoTextThatIsNotWanted) {
  ASSERT_FALSE(dump_wanted(DumpStage::kPlan));  // the tests run without TORCHDYN_DUMP
  bool made = false;
  dump(DumpStage::kPlan, "", [&] {
    made = true;
    return std::string();
  });
  EXPECT_FALSE(made);
}

}  // namespace
}  // namespace aten_bridge
