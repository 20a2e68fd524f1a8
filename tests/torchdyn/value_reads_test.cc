// Values that the function reads on the host, and sizes that depend on values.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using torch::Tensor;

Tensor branch(const Tensor& x) {
  if (x.sum().item<float>() > 0) return x * 2;
  return x - 3;
}

void expect_all_compiled(const Explanation& explanation, size_t variants) {
  EXPECT_EQ(explanation.variants.size(), variants);
  for (const auto& v : explanation.variants) EXPECT_EQ(v.eager_reason, "");
}

TEST(ValueReads, ABranchOnATensorTakesTheBranchOfEachCall) {
  auto compiled = compile(branch);
  const Tensor x = torch::tensor({1.0f, 2.0f});
  for (const Tensor& t : {x, -x, x, -x}) EXPECT_TRUE(torch::equal(compiled(t), branch(t)));
  expect_all_compiled(compiled.explain(), 2);
}

TEST(ValueReads, AVariantServesEveryCallWithTheSameValue) {
  auto f = [](const Tensor& x, const Tensor& n) { return x * n.item<int64_t>(); };
  auto compiled = compile(f);
  const Tensor n = torch::tensor(3);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = torch::randn({4});
    EXPECT_TRUE(torch::equal(compiled(x, n), f(x, n)));
  }
  expect_all_compiled(compiled.explain(), 1);
}

TEST(ValueReads, ASizeThatDependsOnValuesIsLookedAtOnEveryCall) {
  auto f = [](const Tensor& x) { return x.masked_select(x > 0) * 2; };
  auto compiled = compile(f);
  for (const Tensor& x : {torch::tensor({1.0f, -1.0f, 2.0f}), torch::tensor({-1.0f, 5.0f, 6.0f}),
                          torch::tensor({1.0f, 1.0f, 1.0f})})
    EXPECT_TRUE(torch::equal(compiled(x), f(x)));
  expect_all_compiled(compiled.explain(), 2);
}

TEST(ValueReads, ASizeAloneIsLookedAtToo) {
  auto f = [](const Tensor& x) { return x * x.nonzero().size(0); };
  auto compiled = compile(f);
  for (const Tensor& x : {torch::tensor({1.0f, 0.0f}), torch::tensor({1.0f, 2.0f})})
    EXPECT_TRUE(torch::equal(compiled(x), f(x)));
}

TEST(ValueReads, GradientsFlowBesideThem) {
  auto compiled = compile(branch);
  const Tensor x = torch::tensor({1.0f, 2.0f}).requires_grad_();
  const Tensor grad = torch::autograd::grad({compiled(x).sum()}, {x})[0];
  EXPECT_TRUE(torch::equal(grad, torch::full({2}, 2.0f)));
  expect_all_compiled(compiled.explain(), 1);
}

TEST(ValueReads, AnInputIsUnchangedWhereAnAssumptionFailed) {
  auto f = [](const Tensor& x) {
    x.add_(1);
    return x.sum().item<float>() > 10 ? x * 2 : x * 3;
  };
  auto compiled = compile(f);
  for (float start : {0.0f, 20.0f, 0.0f}) {
    const Tensor ours = torch::full({3}, start), eagers = ours.clone();
    EXPECT_TRUE(torch::equal(compiled(ours), f(eagers)));
    EXPECT_TRUE(torch::equal(ours, eagers));
  }
}

TEST(ValueReads, RandomNumbersAreThoseOfEager) {
  auto f = [](const Tensor& x) {
    const Tensor y = torch::dropout(x, 0.5, /*train=*/true);
    return y.sum().item<float>() > x.sum().item<float>() ? y : -y;
  };
  auto compiled = compile(f);
  const Tensor x = torch::randn({64});
  for (int seed = 0; seed < 6; ++seed) {
    torch::manual_seed(seed);
    const Tensor ours = compiled(x), next = torch::rand({1});
    torch::manual_seed(seed);
    EXPECT_TRUE(torch::equal(ours, f(x)));
    EXPECT_TRUE(torch::equal(next, torch::rand({1})));
  }
}

TEST(ValueReads, EqualIsAValueThatIsRead) {
  auto f = [](const Tensor& x, const Tensor& y) { return x.equal(y) ? x + 1 : x + y; };
  auto compiled = compile(f);
  const Tensor x = torch::randn({3}), y = torch::randn({3});
  EXPECT_TRUE(torch::equal(compiled(x, x.clone()), f(x, x.clone())));
  EXPECT_TRUE(torch::equal(compiled(x, y), f(x, y)));
  expect_all_compiled(compiled.explain(), 2);
}

TEST(ValueReads, AValueThatNeverRepeatsEndsInEager) {
  auto f = [](const Tensor& x) { return x * x.sum().item<float>(); };
  Options options;
  options.recompile_limit = 2;
  auto compiled = compile(f, options);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = torch::full({2}, static_cast<float>(i));
    EXPECT_TRUE(torch::equal(compiled(x), f(x)));
  }
  EXPECT_EQ(compiled.explain().variants.size(), 2u);
}

}  // namespace
}  // namespace torchdyn
