// Captures of CUDA programs under autocast: which casts, which dtypes, which attention.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aten_bridge/graph/text.h"
#include "aten_bridge/guards/tensor_guards.h"
#include "aten_bridge/trace/capture.h"
#include "tests/fake_cuda/autocast.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using aten_bridge::Captured;
using ::testing::HasSubstr;
using ::testing::Not;
using Tensors = std::vector<Tensor>;
using Program = std::function<Tensor(const Tensors&)>;

Captured captured(const Tensors& inputs, const Program& program) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) names.push_back(std::string(1, "abcdef"[i]));
  return aten_bridge::capture({inputs, names},
                              [&](const Tensors& t) { return Tensors{program(t)}; });
}

std::string graph_of(const Tensors& inputs, const Program& program) {
  return print(captured(inputs, program).joint.graph);
}

Tensor parameter(at::IntArrayRef sizes) { return on_cuda(sizes).set_requires_grad(true); }

TEST(TraceOnCuda, PointwiseOperatorsAndTheirBackwardStayThere) {
  const std::string graph =
      graph_of({parameter({8, 4})}, [](const Tensors& t) { return t[0].tanh() * 2; });
  EXPECT_THAT(graph, HasSubstr("f32[8, 4]@cuda:0 = aten::tanh(a)"));
  EXPECT_THAT(graph, HasSubstr("tangent0: f32[8, 4]@cuda:0"));
  EXPECT_THAT(graph, Not(HasSubstr("f32[8, 4] =")));
}

TEST(TraceOnCuda, ALinearLayerMultipliesInBf16AndReturnsGradientsInFloat32) {
  const Autocast autocast;
  const Captured c = captured({on_cuda({8, 16}), parameter({32, 16})},
                              [](const Tensors& t) { return torch::linear(t[0], t[1]); });
  const std::string graph = print(c.joint.graph);
  EXPECT_THAT(graph, HasSubstr("bf16[8, 16]@cuda:0 = aten::_to_copy(a, dtype=bf16"));
  EXPECT_THAT(graph, HasSubstr("bf16[8, 32]@cuda:0 = aten::mm("));
  EXPECT_EQ(print(c.joint.graph.outputs()[0]->type()), "bf16[8, 32]@cuda:0");
  EXPECT_EQ(print(c.joint.graph.outputs()[2]->type()), "f32[32, 16]@cuda:0");
}

TEST(TraceOnCuda, AWeightIsCastOncePerCapture) {
  const Autocast autocast;
  const std::string graph = graph_of({on_cuda({8, 16}), parameter({16, 16})}, [](const Tensors& t) {
    return torch::mm(torch::mm(t[0], t[1]), t[1]);
  });
  const std::string cast = "= aten::_to_copy(b, dtype=bf16";
  ASSERT_THAT(graph, HasSubstr(cast));
  EXPECT_EQ(graph.find(cast), graph.rfind(cast));
}

// Were the first capture's cast still there, the second one would meet a tensor of the first.
TEST(TraceOnCuda, AutocastsCacheKeepsNoFakes) {
  const Tensors inputs{on_cuda({8, 16}), parameter({16, 16})};
  const Program product = [](const Tensors& t) { return torch::mm(t[0], t[1]); };
  const Autocast autocast;
  const std::string first = graph_of(inputs, product);
  EXPECT_THAT(first, HasSubstr("_to_copy(b, dtype=bf16"));
  EXPECT_EQ(graph_of(inputs, product), first);
  EXPECT_EQ(inputs[1].use_count(), 1u);
}

TEST(TraceOnCuda, LayerNormRunsInFloat32) {
  const Autocast autocast;
  const std::string graph = graph_of(
      {parameter({8, 16}), parameter({16}), parameter({16})},
      [](const Tensors& t) { return torch::layer_norm(t[0].to(at::kBFloat16), {16}, t[1], t[2]); });
  EXPECT_THAT(graph, HasSubstr("f32[8, 1]@cuda:0 = aten::rsqrt("));
  EXPECT_THAT(graph, Not(HasSubstr("aten::native_layer_norm(")));
}

// cuDNN's has none: ATen would add the bias and sum its gradient in kernels of their own.
TEST(TraceOnCuda, AConvolutionAddsItsBiasApart) {
  const Autocast autocast;
  const std::string graph =
      graph_of({parameter({2, 4, 6, 6}), parameter({8, 4, 3, 3}), parameter({8})},
               [](const Tensors& t) { return torch::conv2d(t[0], t[1], t[2]); });
  EXPECT_THAT(graph, HasSubstr("bias=none"));
  EXPECT_THAT(graph, HasSubstr("bf16[1, 8, 1, 1]@cuda:0 = aten::view("));
  EXPECT_THAT(graph, HasSubstr("bf16[2, 8, 4, 4]@cuda:0 = aten::add.Tensor("));
  EXPECT_THAT(graph, HasSubstr("output_mask=[true, true, false]"));
  EXPECT_THAT(graph, HasSubstr("bf16[8]@cuda:0 = aten::sum.dim_IntList(tangent0, dim=[0, 2, 3]"));
}

TEST(TraceOnCuda, CrossEntropyOfBf16LogitsRunsInFloat32) {
  const Autocast autocast;
  const Captured c = captured({parameter({8, 16}), on_cuda({8}, at::kLong)}, [](const Tensors& t) {
    return torch::nn::functional::cross_entropy(t[0].to(at::kBFloat16), t[1]);
  });
  const std::string graph = print(c.joint.graph);
  EXPECT_THAT(graph, HasSubstr("f32[8, 16]@cuda:0 = aten::exp("));
  EXPECT_THAT(graph, Not(HasSubstr("aten::_log_softmax(")));
  EXPECT_EQ(print(c.joint.graph.outputs()[0]->type()), "f32[]@cuda:0");
}

TEST(TraceOnCuda, AnEmbeddingAndItsBackward) {
  const std::string graph = graph_of({parameter({32, 16}), on_cuda({8, 4}, at::kLong)},
                                     [](const Tensors& t) { return torch::embedding(t[0], t[1]); });
  EXPECT_THAT(graph, HasSubstr("f32[8, 4, 16]@cuda:0 = aten::embedding("));
  EXPECT_THAT(graph, HasSubstr("f32[32, 16]@cuda:0 = aten::embedding_dense_backward("));
}

TEST(TraceOnCuda, DropoutIsTheDevicesOwnKernelWhichDrawsWhatEagerDraws) {
  const std::string graph = graph_of(
      {parameter({8, 4})}, [](const Tensors& t) { return torch::dropout(t[0], 0.5, true); });
  EXPECT_THAT(graph, HasSubstr("bool[8, 4]@cuda:0 = aten::native_dropout(input=a, p=0.5"));
}

// Heads of a fused projection: [2, 4, 6, 8] as views of [2, 6, 3 * 4 * 8].
Tensors heads_of(const Tensor& qkv) {
  Tensors heads;
  for (const Tensor& part : qkv.to(at::kBFloat16).chunk(3, -1))
    heads.push_back(part.view({2, 6, 4, 8}).transpose(1, 2));
  return heads;
}

constexpr char kHeads[] = "bf16[2, 4, 6, 8]{192, 8, 32, 1}@cuda:0";

TEST(TraceOnCuda, AttentionIsTheFlashKernelThatItsChoiceNames) {
  const std::string graph = graph_of({parameter({2, 6, 96})}, [](const Tensors& t) {
    const Tensors h = heads_of(t[0]);
    return torch::scaled_dot_product_attention(h[0], h[1], h[2], {}, 0.0, /*is_causal=*/true);
  });
  EXPECT_THAT(graph, HasSubstr(kHeads));
  EXPECT_THAT(graph, HasSubstr("u64[2]@cuda:0"));
  EXPECT_THAT(graph, HasSubstr("= aten::_scaled_dot_product_flash_attention("));
  EXPECT_THAT(graph, HasSubstr("= aten::_scaled_dot_product_flash_attention_backward("));
  EXPECT_THAT(graph, HasSubstr("max_q=6, max_k=6"));
}

TEST(TraceOnCuda, TheEfficientKernelAndItsBackward) {
  const std::string graph = graph_of({parameter({2, 6, 96})}, [](const Tensors& t) {
    const Tensors h = heads_of(t[0]);
    return std::get<0>(at::_scaled_dot_product_efficient_attention(h[0], h[1], h[2], {}, true));
  });
  EXPECT_THAT(graph, HasSubstr("f32[2, 4, 32]@cuda:0"));
  EXPECT_THAT(graph, HasSubstr("= aten::_scaled_dot_product_efficient_attention_backward("));
}

TEST(TraceOnCuda, CudnnsKernelAndItsBackward) {
  const std::string graph = graph_of({parameter({2, 6, 96})}, [](const Tensors& t) {
    const Tensors h = heads_of(t[0]);
    return std::get<0>(at::_scaled_dot_product_cudnn_attention(h[0], h[1], h[2], {}, true));
  });
  EXPECT_THAT(graph, HasSubstr("f32[2, 4, 6, 1]@cuda:0"));
  EXPECT_THAT(graph, HasSubstr("= aten::_scaled_dot_product_cudnn_attention_backward("));
}

TEST(TraceOnCuda, AFactoryWithoutAnIndexTakesTheCurrentDevice) {
  const c10::DeviceGuard second(c10::Device(c10::kCUDA, 1));
  EXPECT_THAT(
      graph_of({on_cuda({4})},
               [](const Tensors&) { return torch::zeros({4}, torch::TensorOptions(at::kCUDA)); }),
      HasSubstr("f32[4]@cuda:1 = aten::zeros("));
}

TEST(TraceOnCuda, GuardsCoverAutocast) {
  const Tensors inputs{on_cuda({8, 16})};
  const Autocast autocast;
  const auto guards = aten_bridge::InputGuards::record(inputs, std::vector<std::string>{"a"});
  EXPECT_TRUE(guards.check(inputs));
  at::autocast::set_autocast_dtype(at::kCUDA, at::kHalf);
  EXPECT_FALSE(guards.check(inputs));
  EXPECT_THAT(guards.explain_failure(inputs), HasSubstr("autocast"));
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  EXPECT_FALSE(guards.check(inputs));
  at::autocast::set_autocast_enabled(at::kCUDA, true);
}

}  // namespace
}  // namespace fake_cuda
