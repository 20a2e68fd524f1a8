// Nothing of a compiled function's calls ran in eager, and all of them were one variant's.
//   expect_compiled_once(compiled);
#pragma once

#include <gtest/gtest.h>

#include "torchdyn/compile.h"

template <class Compiled>
void expect_compiled_once(const Compiled& compiled) {
  const torchdyn::Explanation explanation = torchdyn::explain(compiled);
  ASSERT_EQ(explanation.variants.size(), 1u) << explanation;
  EXPECT_EQ(explanation.variants[0].eager_reason, "");
  EXPECT_EQ(explanation.variants[0].graphs.size(), 2u);  // forward and backward
  EXPECT_GT(explanation.kernel_launches(), 0);
}
