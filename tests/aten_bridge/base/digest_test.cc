#include "aten_bridge/base/digest.h"

#include <gtest/gtest.h>

namespace aten_bridge {
namespace {

// Reference: printf '\0\0\0\0\0\0\0\003abc' | sha256sum
TEST(Digest, IsSha256OverLengthAndBytes) {
  EXPECT_EQ(digest({}), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_EQ(digest({"abc"}), "c3494ca1a2cf8eeb8a11ded316fb55b8");
}

TEST(Digest, KnowsWhereAPartEnds) { EXPECT_NE(digest({"ab", "c"}), digest({"a", "bc"})); }

TEST(Digest, ReadsEveryByteOfALongText) {
  std::string text(1000, 'x');
  const std::string before = digest({text});
  text[999] = 'y';
  EXPECT_NE(digest({text}), before);
}

}  // namespace
}  // namespace aten_bridge
