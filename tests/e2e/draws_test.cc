// Random numbers are eager's to the last bit, and so is where the generator stands behind them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

at::TensorOptions on_device(at::ScalarType dtype) {
  return at::TensorOptions(dtype).device(test_device());
}

// Results, gradients and what is drawn next, of calls after one seed: on a GPU the last of them are
// replayed.
template <class F>
Tensors seen_by(F&& f, const Tensor& input) {
  Tensors seen;
  torch::manual_seed(11);
  for (int call = 0; call < 6; ++call) {
    const Tensor x = input.detach().clone().set_requires_grad(input.is_floating_point());
    for (const Tensor& y : f(x)) {
      seen.push_back(y.detach());
      if (y.requires_grad()) y.sum().backward({}, /*retain_graph=*/true);
    }
    if (x.grad().defined()) seen.push_back(x.grad());
    seen.push_back(torch::rand({3}, on_device(at::kFloat)));
  }
  return seen;
}

template <class F>
void expect_eagers(F f, const Tensor& input, const std::string& what) {
  SCOPED_TRACE(what);
  Options options;
  options.set("numerics", "eager");  // what is computed with the numbers has eager's bits, too
  const auto compiled = compile(f, options);
  const Tensors want = seen_by(f, input), got = seen_by(compiled, input);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].strides(), want[i].strides()) << i;
    EXPECT_TRUE(torch::allclose(got[i], want[i], 0, 0, /*equal_nan=*/true)) << "tensor " << i;
  }
}

// Sizes that the widest accesses fit, and not; on a GPU up to more than its threads take at once.
Tensors inputs(at::ScalarType dtype) {
  torch::manual_seed(5);
  const auto made = [&](at::IntArrayRef sizes) { return torch::randn(sizes, on_device(dtype)); };
  Tensors all{made({7}),
              made({8}),
              made({1000}),
              made({4, 6, 10}),
              made({6, 8}).t(),
              made({5, 7}).t(),
              made({8, 12}).slice(1, 0, 7),
              made({2, 4, 6, 8}).contiguous(at::MemoryFormat::ChannelsLast)};
  if (test_device().is_cuda())
    for (const int64_t n : {270'336, 270'340, 1'081'344, 1'081'348, 2'500'002, 5'000'001})
      all.push_back(made({n}));
  return all;
}

std::string text_of(const Tensor& x, double p) {
  return c10::str(x.scalar_type(), x.sizes(), x.strides(), " p=", p);
}

TEST(Draws, DropoutsAreEagers) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble})
    for (const Tensor& x : inputs(dtype))
      for (const double p : {0.0, 0.1, 0.5, 1.0}) {
        expect_eagers([p](const Tensor& t) { return Tensors{torch::dropout(t, p, true)}; }, x,
                      "of an input, " + text_of(x, p));
        if (p != 0.1) continue;
        expect_eagers(
            [p](const Tensor& t) {
              const Tensor once = torch::dropout(t.relu() * 2, p, true);
              return Tensors{torch::dropout(once + t, p, true) * once, torch::dropout(t, p, false)};
            },
            x, "of a result, " + text_of(x, p));
      }
}

TEST(Draws, ADropoutOfAPartIsEagers) {
  const Tensor x = torch::randn({64, 65}, on_device(at::kFloat));
  for (const int64_t first : {0, 1, 2, 4})
    expect_eagers(
        [first](const Tensor& t) {
          return Tensors{torch::dropout(t.relu().slice(0, first, first + 32), 0.5, true),
                         torch::dropout(t.relu().slice(1, first, first + 32), 0.5, true)};
        },
        x, c10::str("from ", first));
}

// What lies where accesses of any width may not begin is drawn otherwise by eager.
TEST(Draws, ADropoutOfAnUnalignedInputIsEagers) {
  const Tensor all = torch::randn({1032}, on_device(at::kFloat));
  auto f = [](const Tensor& t) { return torch::dropout(t, 0.5, true); };
  const auto compiled = compile(f);
  for (const int64_t first : {0, 1, 2, 3, 4}) {
    const Tensor x = all.slice(0, first, first + 1024);
    torch::manual_seed(1);
    const Tensor want = f(x);
    torch::manual_seed(1);
    EXPECT_TRUE(torch::equal(compiled(x), want)) << first;
  }
}

TEST(Draws, DistributionsAreEagers) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble})
    for (const Tensor& x : inputs(dtype)) {
      expect_eagers(
          [](const Tensor& t) {
            return Tensors{torch::rand_like(t), torch::empty_like(t).uniform_(-2, 3),
                           torch::rand(t.sizes(), t.options()) * t};
          },
          x, "uniform, " + text_of(x, 0));
      expect_eagers(
          [](const Tensor& t) {
            return Tensors{torch::randn_like(t), torch::empty_like(t).normal_(1, 3),
                           torch::randn(t.sizes(), t.options()) * t};
          },
          x, "normal, " + text_of(x, 0));
      expect_eagers(
          [](const Tensor& t) {
            return Tensors{torch::empty_like(t).bernoulli_(0.3), torch::bernoulli(t.sigmoid()),
                           torch::bernoulli(t.detach(), 0.7) * t};
          },
          x, "bernoulli, " + text_of(x, 0.3));
    }
}

TEST(Draws, ThoseOfKernelsAndOfAtenTakeTurns) {
  const Tensor x = torch::randn({40, 16}, on_device(at::kFloat));
  expect_eagers(
      [](const Tensor& t) {
        const Tensor first = torch::dropout(t, 0.5, true);
        const Tensor order = torch::randperm(40, t.options().dtype(at::kLong).requires_grad(false));
        const Tensor noise = torch::randn_like(t) * torch::empty_like(t).exponential_();
        return Tensors{torch::dropout(first * noise, 0.25, true), order,
                       torch::randint(9, {5}, t.options().requires_grad(false))};
      },
      x, "all kinds");
}

TEST(Draws, ADropoutsSecondDerivativeDrawsTheSameNumbers) {
  const auto f = [](const Tensor& t) { return torch::dropout(t * t * t, 0.5, true); };
  const auto second = [](auto&& f) {
    torch::manual_seed(3);
    const Tensor x = torch::ones({64}, on_device(at::kFloat)).set_requires_grad(true);
    const Tensor y = f(x);
    const Tensor dx = torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true)[0];
    return Tensors{y.detach(), dx.detach(), torch::autograd::grad({dx.sum()}, {x})[0],
                   torch::rand({3}, on_device(at::kFloat))};
  };
  const Tensors want = second(f), got = second(compile(f));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(torch::equal(got[i], want[i])) << i;
}

TEST(Draws, AGpusKernelsDrawThemselves) {
  if (test_device().is_cpu()) GTEST_SKIP() << "needs TORCHDYN_TEST_DEVICE=cuda";
  const auto compiled =
      compile([](const Tensor& t) { return torch::dropout(t.relu(), 0.5, true); });
  const Tensor x = torch::randn({64, 64}, on_device(at::kFloat)).set_requires_grad(true);
  compiled(x).sum().backward();
  const auto variant = explain(compiled).variants.at(0);
  EXPECT_THAT(variant.graphs.at(0).extern_calls, testing::ElementsAre("torchdyn::philox_state"));
  EXPECT_THAT(variant.graphs.at(0).kernels, testing::SizeIs(1));
  EXPECT_THAT(variant.graphs.at(1).extern_calls, testing::IsEmpty());
  EXPECT_THAT(variant.graphs.at(1).text, testing::HasSubstr("torchdyn::philox_dropout("));
}

}  // namespace
}  // namespace torchdyn
