// What only a machine with a GPU can show; elsewhere these tests say so.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/base/once.h"
#include "inductor/backend/cuda/nvrtc.h"
#include "tests/e2e/test_device.h"
#include "tests/inductor/support/scratch_directory.h"
#include "tests/inductor/support/variable.h"
#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using aten_bridge::SaidCapture;
using inductor::ScratchDirectory;
using inductor::Variable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
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

// Calls run in eager, and the reason is in explain() and was said once.
void expect_in_eager(const std::string& reason) {
  const SaidCapture said;
  const auto compiled = compile(table);
  const Tensor x = range(8);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(compiled(x, x), table(x, x)));
  EXPECT_THAT(explain(compiled).variants.at(0).eager_reason, HasSubstr(reason));
  EXPECT_THAT(said.messages(), ElementsAre(HasSubstr(reason)));
}

TEST_F(OnCuda, ADeviceThatIsTooOldRunsInEagerAndItIsSaidOnce) {
  const Variable arch("TORCHDYN_CUDA_ARCH", "sm_70");
  expect_in_eager("is sm_70; kernels need sm_75 or newer");
}

TEST_F(OnCuda, WithoutNvrtcCallsRunInEagerAndItIsSaidOnce) {
  const Variable nvrtc("TORCHDYN_NVRTC", "/nonexistent/libnvrtc.so");
  expect_in_eager("/nonexistent/libnvrtc.so");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(OnCuda, AKernelThatNvrtcRejectsIsLeftToAtenAndLeavesARepro) {
  const ScratchDirectory cache;
  const auto nvrtc = inductor::find_nvrtc();
  ASSERT_TRUE(nvrtc.ok());
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const Variable variables[] = {{"TORCHDYN_CACHE_DIR", cache.path()},
                                {"TORCHDYN_NVRTC", program / "../lib/libpicky_nvrtc.so"},
                                {"PICKY_NVRTC_OF", *nvrtc},
                                {"PICKY_NVRTC_REJECTS", " mul_tanh_"}};
  const auto two_fusions = [](const Tensor& x) { return (x.relu().mm(x) * 3.25).tanh(); };
  const Tensor x = torch::rand({8, 8}, test_device());
  const SaidCapture said;
  const auto compiled = compile(two_fusions);
  EXPECT_TRUE(torch::allclose(compiled(x), two_fusions(x)));

  const Explanation explanation = explain(compiled);
  ASSERT_THAT(explanation.variants, SizeIs(1));
  const auto& graph = explanation.variants[0].graphs.at(0);
  EXPECT_THAT(graph.kernels, SizeIs(1)) << explanation;
  EXPECT_THAT(graph.extern_calls, ElementsAre("aten::mm", "aten::mul.Scalar", "aten::tanh"));
  ASSERT_THAT(said.messages(), SizeIs(1));
  const std::string message = said.messages()[0];
  EXPECT_THAT(message, HasSubstr("aten::tanh run in ATen"));
  const std::string repro = message.substr(message.find(cache.path()));
  EXPECT_THAT(text_of(repro + "/kernel.cu"), HasSubstr(" mul_tanh_"));
  EXPECT_THAT(text_of(repro + "/compiler.log"), HasSubstr("it has  mul_tanh_"));
  EXPECT_THAT(text_of(repro + "/graph.txt"), HasSubstr("aten::tanh"));
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

TEST_F(OnCuda, WhatLiesOnAnotherDeviceIsCalled) {
  const auto mixed = [](const Tensor& x, const Tensor& y) {
    return (x + 1) * (y * 3 + 1).to(x.device());
  };
  const Tensor x = range(8), y = x.cpu();
  const auto compiled = compile(mixed);
  EXPECT_TRUE(torch::equal(compiled(x, y), mixed(x, y)));
  EXPECT_EQ(explain(compiled).variants[0].eager_reason, "");
}

TEST_F(OnCuda, AZeroDimensionalTensorOfTheCpuMayTakePart) {
  const Tensor x = range(8), y = torch::tensor(3.0f);
  EXPECT_TRUE(torch::equal(compile(table)(x, y), table(x, y)));
}

// Beside ATen's in float64: values and both gradients.
TEST_F(OnCuda, ConvolutionsOfSingleChannelsAreKernels) {
  struct Geometry {
    int64_t channels, size, filter, stride;
  };
  for (const Geometry& g :
       {Geometry{24, 14, 3, 1}, {40, 28, 5, 2}, {96, 7, 7, 1}, {30, 13, 3, 2}}) {
    const auto convolve = [&g](const Tensor& x, const Tensor& w) {
      return torch::conv2d(x, w, {}, g.stride, g.filter / 2, 1, g.channels);
    };
    const auto options = torch::TensorOptions(test_device()).dtype(torch::kBFloat16);
    Tensor leaves[] = {torch::randn({64, g.channels, g.size, g.size}, options).requires_grad_(),
                       torch::randn({g.channels, 1, g.filter, g.filter}, options).requires_grad_()};
    Tensor exact[] = {leaves[0].detach().to(torch::kDouble).requires_grad_(),
                      leaves[1].detach().to(torch::kDouble).requires_grad_()};
    const auto compiled = compile(convolve);
    const Tensor got = compiled(leaves[0], leaves[1]), want = convolve(exact[0], exact[1]);
    const Tensor tangent = torch::randn_like(got);
    got.backward(tangent);
    want.backward(tangent.to(torch::kDouble));
    const auto near = [](const Tensor& a, const Tensor& b) {
      return (a.to(torch::kDouble) - b).abs().max().item<double>() <=
             b.abs().max().item<double>() / 128;
    };
    EXPECT_TRUE(near(got, want)) << g.filter;
    for (int i : {0, 1}) EXPECT_TRUE(near(leaves[i].grad(), exact[i].grad())) << g.filter << i;
    for (const auto& graph : explain(compiled).variants.at(0).graphs)
      EXPECT_THAT(graph.extern_calls, ::testing::IsEmpty());
  }
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
