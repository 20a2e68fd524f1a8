#include "tests/e2e/scenario.h"

namespace torchdyn {

void expect_the_same_seen(const Scenario& scenario) {
  torch::manual_seed(0);
  const Tensors want = scenario.eager();
  torch::manual_seed(0);
  const Doors doors;
  const Tensors got = scenario.compiled(doors);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    const Tensor &g = got[i], &w = want[i];
    ASSERT_EQ(g.defined(), w.defined());
    if (!w.defined()) continue;
    EXPECT_EQ(g.scalar_type(), w.scalar_type());
    ASSERT_EQ(g.sizes(), w.sizes());
    EXPECT_EQ(g.strides(), w.strides());
    EXPECT_EQ(g.requires_grad(), w.requires_grad());
    EXPECT_EQ(g.is_leaf(), w.is_leaf());
    EXPECT_TRUE(torch::allclose(g, w, 1e-5, 1e-6, /*equal_nan=*/true)) << g << "\nis not\n" << w;
  }
  std::string reasons;
  for (const Explanation& explanation : doors.explanations()) {
    for (const std::string& refusal : explanation.refusals) reasons += refusal;
    for (const auto& variant : explanation.variants) reasons += variant.eager_reason;
  }
  EXPECT_THAT(reasons, ::testing::HasSubstr(scenario.eager_reason));
  if (scenario.eager_reason.empty()) {
    EXPECT_EQ(reasons, "");
  }
}

}  // namespace torchdyn
