// What only a machine with a GPU can show; elsewhere these tests say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_device().is_cpu()) GTEST_SKIP() << "needs TORCHDYN_TEST_DEVICE=cuda";
  }
};

Tensor table(const Tensor& x, const Tensor& y) { return (x + y) * 2; }

Tensor range(int64_t count) {
  return torch::arange(count, torch::TensorOptions(test_device()).dtype(torch::kFloat));
}

TEST_F(OnCuda, OutOfMemoryIsLibTorchsErrorAndTheNextCallWorks) {
  const auto compiled = compile(table);
  const Tensor x = range(1'000'000);
  EXPECT_THROW(compiled(x.view({-1, 1}), x), c10::OutOfMemoryError);  // four terabytes
  const Tensor y = range(100);
  EXPECT_TRUE(torch::equal(compiled(y.view({-1, 1}), y), table(y.view({-1, 1}), y)));
  EXPECT_THROW(compiled(x.view({-1, 1}), x), c10::OutOfMemoryError);
}

TEST_F(OnCuda, TensorsOnTwoDevicesRaiseEagersError) {
  const Tensor x = range(8), y = x.cpu();
  const auto compiled = compile(table);
  auto error_of = [&](const auto& function) {
    try {
      function(x, y);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(error_of(compiled), HasSubstr("same device"));
  EXPECT_EQ(error_of(compiled), error_of(table));
}

TEST_F(OnCuda, AProgramWithKernelsForTwoDevicesRunsInEagerAndSaysSo) {
  const auto mixed = [](const Tensor& x, const Tensor& y) {
    return (x + 1) * (y * 3 + 1).to(x.device());
  };
  const Tensor x = range(8), y = x.cpu();
  const auto compiled = compile(mixed);
  EXPECT_TRUE(torch::equal(compiled(x, y), mixed(x, y)));
  EXPECT_THAT(explain(compiled).str(), HasSubstr("two devices"));
}

TEST_F(OnCuda, AZeroDimensionalTensorOfTheCpuMayTakePart) {
  const Tensor x = range(8), y = torch::tensor(3.0f);
  EXPECT_TRUE(torch::equal(compile(table)(x, y), table(x, y)));
}

TEST_F(OnCuda, KernelsRunOnTheCurrentStream) {
  const auto* cuda = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  const Tensor x = range(1 << 20);
  const auto compiled = compile(table);
  compiled(x, x);
  const c10::Stream stream = cuda->getNewStream(test_device());
  const c10::Stream before = cuda->exchangeStream(stream);
  // Behind the product, in the same stream: a kernel in another one would read what is not there.
  const Tensor big = torch::ones({4096, 4096}, x.options());
  const Tensor product = big.mm(big).mm(big).view({-1}).slice(0, 0, 1 << 20);
  const Tensor got = compiled(product, x), want = table(product, x);
  EXPECT_TRUE(torch::equal(got, want));
  cuda->synchronizeDevice(test_device().index());
  cuda->exchangeStream(before);
}

}  // namespace
}  // namespace torchdyn
