// Convolutions over channels that lie together compute what those of row-major images do.
#include "aten_bridge/graph/channels_last.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/interpret.h"
#include "inductor/compile.h"
#include "inductor/lowering/lowering.h"
#include "inductor/runtime/aten/run.h"

namespace aten_bridge {
namespace {

namespace F = torch::nn::functional;
using torch::Tensor;

bool is_kernel(const Node& node) {
  const inductor::OpKind kind = inductor::kind_of(node.op);
  return kind == inductor::OpKind::kPointwise || kind == inductor::OpKind::kReduction;
}

Tensor batch_norm(const Tensor& x) {
  const int64_t n = x.size(1);
  return torch::batch_norm(x, torch::ones(n), torch::zeros(n), {}, {}, true, 0.1, 1e-5, false);
}

struct Program {
  std::string name;
  std::vector<at::IntArrayRef> sizes;  // images, then weights
  std::function<Tensor(const Tensors&)> run;
};

const int64_t kImages[] = {2, 3, 10, 12}, kFirst[] = {8, 3, 3, 3}, kSecond[] = {8, 8, 3, 3},
              kDepthwise[] = {8, 1, 3, 3}, kHead[] = {8 * 5 * 6, 4};

std::vector<Program> programs() {
  return {
      {"ABlockWithAPoolAndAHead",
       {kImages, kFirst, kSecond, kHead},
       [](const Tensors& t) {
         const Tensor x = batch_norm(torch::conv2d(t[0], t[1], {}, 1, 1)).relu();
         const Tensor y = (batch_norm(torch::conv2d(x, t[2], {}, 1, 1)) + x).relu();
         return torch::max_pool2d(y, 2).flatten(1).mm(t[3]);
       }},
      {"ChannelsBetweenNormsOfRows",
       {kImages, kFirst, kDepthwise},
       [](const Tensors& t) {
         const Tensor x = torch::conv2d(t[0], t[1], {}, 1, 1);
         const Tensor y = torch::layer_norm(x.permute({0, 2, 3, 1}), {8}).permute({0, 3, 1, 2});
         return torch::conv2d(y, t[2], {}, 1, 1, 1, 8).sigmoid().mean({2, 3});
       }},
      {"PlacesAsAList",
       {kImages, kFirst},
       [](const Tensors& t) {
         return torch::conv2d(t[0], t[1], {}, 2).flatten(2).transpose(1, 2).softmax(1);
       }},
      {"TwoScalesTogether",
       {kImages, kFirst, kSecond},
       [](const Tensors& t) {
         const Tensor fine = torch::silu(torch::group_norm(torch::conv2d(t[0], t[1], {}, 1, 1), 2));
         const Tensor coarse = torch::avg_pool2d(torch::conv2d(fine, t[2], {}, 1, 1), 2);
         const Tensor wide = F::interpolate(
             coarse,
             F::InterpolateFuncOptions().size(std::vector<int64_t>{10, 12}).mode(torch::kNearest));
         return torch::cat({wide, fine}, 1) * 2;
       }},
      {"AnOperatorOfNoKernelBetween",
       {kImages, kFirst, kSecond},
       [](const Tensors& t) {
         const Tensor x = torch::conv2d(t[0], t[1], {}, 1, 1);
         return torch::conv2d(std::get<0>(x.sort(3)), t[2], {}, 1, 1);
       }},
  };
}

class ChannelsLast : public ::testing::TestWithParam<Program> {};

TEST_P(ChannelsLast, ComputesTheSame) {
  torch::manual_seed(1);
  Tensors inputs;
  std::vector<std::string> names;
  for (at::IntArrayRef sizes : GetParam().sizes) {
    inputs.push_back(torch::randn(sizes).requires_grad_());
    names.push_back("x" + std::to_string(names.size()));
  }
  Captured captured =
      capture({inputs, names}, [&](const Tensors& t) { return Tensors{GetParam().run(t)}; }, {});
  const Graph& rows = captured.joint.graph;
  const Graph last = channels_last(rows, is_kernel);
  EXPECT_THAT(print(last), ::testing::HasSubstr("aten::convolution"));
  for (const auto& node : last.nodes()) {
    if (node->op != "aten::convolution") continue;
    const auto& strides = node->outputs[0]->strides;
    EXPECT_EQ(strides[1], SymExpr(1)) << print(last);
  }

  for (Tensor& t : inputs) t = t.detach();
  inputs.insert(inputs.end(), captured.constants.begin(), captured.constants.end());
  for (int i = 0; i < captured.joint.tangents; ++i) {
    const TensorType& type = rows.inputs()[captured.joint.primals + i].type();
    std::vector<int64_t> sizes;
    for (const SymExpr& size : type.sizes) sizes.push_back(size.as_constant());
    inputs.push_back(torch::randn(sizes));
  }
  const Graph* graphs[] = {&last};
  const auto compiled = inductor::compile(graphs);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Tensors want = interpret(rows, inputs), by_operators = interpret(last, inputs),
                got = inductor::run(*(*compiled)[0], inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    if (!want[i].defined()) continue;
    EXPECT_EQ(got[i].strides(), want[i].strides()) << i;
    EXPECT_TRUE(torch::allclose(by_operators[i], want[i], 1e-4, 1e-4)) << i;
    EXPECT_TRUE(torch::allclose(got[i], want[i], 1e-4, 1e-4)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChannelsLast, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace aten_bridge
