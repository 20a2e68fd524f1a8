// Options::freezing through the C++ door.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace torchdyn {
namespace {

using at::Tensor;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv(register_module("conv", torch::nn::Conv2d(3, 4, 3))),
        norm(register_module("norm", torch::nn::BatchNorm2d(4))) {
    torch::nn::init::uniform_(norm->running_mean, -1, 1);
    torch::nn::init::uniform_(norm->running_var, 0.5, 2);
    torch::nn::init::uniform_(norm->weight, -1, 1);
    eval();
  }
  Tensor forward(const Tensor& x) { return norm(conv(x)).relu(); }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
};
TORCH_MODULE(Net);

Options freezing() {
  Options options;
  options.freezing = true;
  return options;
}

TEST(Freezing, FoldsAModulesBatchNormAndSeesItsChanges) {
  Net net;
  auto compiled = compile(net, freezing());
  const Tensor x = torch::randn({2, 3, 5, 5});
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-4, 1e-5));
  const Explanation::Variant variant = explain(compiled).variants.at(0);
  EXPECT_EQ(variant.eager_reason, "");
  EXPECT_EQ(variant.graphs.at(0).text.find("rsqrt"), std::string::npos);

  net->norm->running_mean.add_(1);
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-4, 1e-5));
  net->conv->weight.set_data(torch::randn({4, 3, 3, 3}));
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-4, 1e-5));
  EXPECT_EQ(explain(compiled).variants.size(), 3u);
  EXPECT_TRUE(at::allclose(compiled(x), net->forward(x), 1e-4, 1e-5));
  EXPECT_EQ(explain(compiled).variants.size(), 3u);
}

TEST(Freezing, DeclaredStateIsConstantAndArgumentsAreNot) {
  Tensor table = torch::randn({4, 4});
  Options options = freezing();
  options.state = {table};
  auto f = [table](const Tensor& x, const Tensor& w) { return x + table.mm(table) + w.exp(); };
  auto compiled = compile(f, options);
  Tensor x = torch::randn({4, 4}), w = torch::randn({4, 4});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(at::allclose(compiled(x, w), f(x, w)));
    w.add_(1);
  }
  const Explanation explanation = explain(compiled);
  ASSERT_EQ(explanation.variants.size(), 1u);
  EXPECT_TRUE(explanation.variants[0].graphs.at(0).extern_calls.empty());
  EXPECT_NE(explanation.variants[0].graphs.at(0).text.find("aten::exp"), std::string::npos);
}

TEST(Freezing, TrainingKeepsItsParameters) {
  Net net;
  auto compiled = compile(net, freezing());
  const Tensor x = torch::randn({2, 3, 5, 5});
  net->forward(x).sum().backward();
  const Tensor want = net->conv->weight.grad().clone();
  net->zero_grad();
  compiled(x).sum().backward();
  EXPECT_TRUE(at::allclose(net->conv->weight.grad(), want, 1e-4, 1e-5));
}

}  // namespace
}  // namespace torchdyn
