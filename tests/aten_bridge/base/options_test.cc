#include "aten_bridge/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

using ::testing::HasSubstr;

TEST(Options, AreSetByName) {
  Options options;
  EXPECT_TRUE(set(options, "fullgraph", "true").ok());
  EXPECT_TRUE(set(options, "recompile_limit", "16").ok());
  EXPECT_TRUE(set(options, "numerics", "eager").ok());
  EXPECT_TRUE(options.fullgraph);
  EXPECT_EQ(options.recompile_limit, 16);
  EXPECT_EQ(print(options),
            "fullgraph=true strict=false recompile_limit=16 freezing=false "
            "cudagraphs=true numerics=eager");
}

TEST(Options, AnUnknownNameListsTheValidOnes) {
  Options options;
  EXPECT_EQ(set(options, "fullgrpah", "true").message(),
            "there is no option \"fullgrpah\"; the options are fullgraph, strict, recompile_limit, "
            "freezing, cudagraphs, numerics");
}

TEST(Options, AWrongValueSaysWhatIsTakenAndChangesNothing) {
  Options options;
  EXPECT_EQ(set(options, "fullgraph", "maybe").message(),
            "the option fullgraph takes true or false, not \"maybe\"");
  EXPECT_EQ(set(options, "recompile_limit", "8x").message(),
            "the option recompile_limit takes an integer, not \"8x\"");
  EXPECT_EQ(set(options, "numerics", "exact").message(),
            "the option numerics takes default or eager, not \"exact\"");
  EXPECT_EQ(options, Options());
}

TEST(Options, HelpNamesEveryOptionWithItsDefault) {
  EXPECT_THAT(options_help(), HasSubstr("fullgraph        false    what cannot be captured"));
  EXPECT_THAT(options_help(), HasSubstr("recompile_limit  8        variants kept"));
}

}  // namespace
}  // namespace aten_bridge
