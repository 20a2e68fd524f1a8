#include "inductor/cache/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inductor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(SplitUnits, BalancesTheText) {
  const int64_t sizes[] = {9000, 1500, 8000, 600};
  EXPECT_THAT(split_units(sizes, 2), ElementsAre(ElementsAre(0u, 3u), ElementsAre(1u, 2u)));
}

TEST(SplitUnits, KeepsLittleTextTogether) {
  const int64_t sizes[] = {100, 200, 300};
  EXPECT_THAT(split_units(sizes, 4), ElementsAre(ElementsAre(0u, 1u, 2u)));
}

TEST(SplitUnits, NeverMakesAnEmptyUnit) {
  const int64_t sizes[] = {100000};
  EXPECT_THAT(split_units(sizes, 4), SizeIs(1));
  EXPECT_THAT(split_units({}, 4), SizeIs(0));
}

}  // namespace
}  // namespace inductor
