// Sums of thousands of float32 numbers lose no more than eager's, whichever dimensions they go
// over.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using torch::Tensor;

struct LongSum {
  std::string name;
  std::vector<int64_t> sizes;
  std::function<Tensor(const Tensor&)> sum;
  double allowed = 6e-8;  // half a unit in the last place is luck
};

// As many rows as divide into runs and as do not; rows that a kernel makes itself; dimensions that
// are no single loop; columns before, between and after what is summed.
std::vector<LongSum> long_sums() {
  const auto of = [](std::vector<int64_t> dims) {
    return [=](const Tensor& x) { return (x * x).sum(dims); };
  };
  const auto overlapping = [](const Tensor& x) {
    return x.unfold(1, 16, 5).mul(x.unfold(1, 16, 5)).sum(at::IntArrayRef{0, 1});
  };
  const auto with_rows = [](const Tensor& x) {
    const Tensor y = x / x.square().mean(1, true).sqrt();
    return torch::cat({(y * y).sum(0), y.sum(1).square()});
  };
  // Far from zero, for what it varies. The mean, 100.5, is a float32 itself, in standard
  // deviations:
  constexpr double kOfTheMean = 100.5 * 6e-8 / 0.289;
  const auto batch_norm = [](const Tensor& x) {
    return at::batch_norm(x + 100, {}, {}, {}, {}, /*training=*/true, 0.1, 1e-5, false);
  };
  const auto of_last_channels = [=](const Tensor& x) {
    return batch_norm(x.permute({0, 3, 1, 2}));
  };
  const auto variance = [](const Tensor& x) { return (x + 100).var(0); };
  return {
      {"Rows", {4096, 64}, of({0})},
      {"FewColumns", {785, 3}, of({0})},
      {"PrimeRows", {8191, 31}, of({0})},
      {"RowsOfARun", {48, 8}, of({0})},
      {"OneMore", {49, 8}, of({0})},
      {"WideRows", {100, 40000}, of({0})},
      {"Channels", {7, 5, 900}, of({0, 2})},
      {"Outer", {33, 40, 3, 17}, of({0, 1})},
      {"Apart", {60, 3, 70, 9}, of({0, 2})},
      {"Whole", {3, 70001}, of({0, 1})},
      {"Inner", {9, 100000}, of({1})},
      {"Overlapping", {10, 141}, overlapping},
      {"WithRows", {2000, 24}, with_rows},
      {"BatchNorm", {64, 24, 32, 32}, batch_norm, kOfTheMean},
      {"BatchNormOfLastChannels", {64, 32, 32, 24}, of_last_channels, kOfTheMean},
      {"Variance", {30000, 40}, variance},
  };
}

class LongSums : public ::testing::TestWithParam<LongSum> {};

TEST_P(LongSums, LoseNoMoreThanEagers) {
  const LongSum& row = GetParam();
  torch::manual_seed(1);
  const Tensor x = (torch::rand(row.sizes) + 0.5).to(test_device());
  const Tensor exact = row.sum(x.to(torch::kFloat64));
  const auto distance = [&](const Tensor& y) {
    return ((y.to(torch::kFloat64) - exact).norm() / exact.norm()).item<double>();
  };
  const double eager = distance(row.sum(x));
  auto compiled = compile(row.sum);
  EXPECT_LE(distance(compiled(x)), 2 * eager + row.allowed) << "eager: " << eager;
  EXPECT_EQ(explain(compiled).variants.at(0).eager_reason, "");
}

// A sum and a variance of the same are read once; the sum must not become NaN by that.
TEST(LongSumsAndVariances, AreEagersWhereOneIsInfinite) {
  Tensor x = torch::rand({30000, 40});
  x[0][3] = x[29999][4] = std::numeric_limits<float>::infinity();
  x[17][5] = std::numeric_limits<float>::quiet_NaN();
  x = x.to(test_device());
  const auto both = [](const Tensor& x) { return torch::stack({x.sum(0), x.var(0)}); };
  EXPECT_TRUE(torch::allclose(compile(both)(x), both(x), 1e-5, 1e-5, /*equal_nan=*/true));
}

TEST(LongSumsAndVariances, OfIntegersAreExact) {
  const Tensor x = torch::randint(-9, 9, {30000, 40}).to(test_device());
  const auto squares = [](const Tensor& x) { return (x - x.sum(0)).square().sum(0); };
  auto compiled = compile(squares);
  EXPECT_TRUE(torch::equal(compiled(x), squares(x)));
  EXPECT_EQ(explain(compiled).variants.at(0).eager_reason, "");
}

INSTANTIATE_TEST_SUITE_P(All, LongSums, ::testing::ValuesIn(long_sums()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace torchdyn
