// The demo's GPT on CUDA under autocast to bf16, captured where there is no GPU.
#include <cstdlib>
#include <fstream>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten_bridge/graph/partition.h"
#include "aten_bridge/graph/text.h"
#include "aten_bridge/trace/capture.h"
#include "bench/gpt/model.h"
#include "inductor/lowering/lowering.h"
#include "tests/fake_cuda/autocast.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

using aten_bridge::Captured;
using aten_bridge::Graph;

struct Setting {
  gpt::GptConfig config;
  int64_t rows;
};

const Setting kTiny{{.vocabulary = 64, .layers = 2, .width = 32, .heads = 4, .context = 16}, 2};
const Setting kGpt2{{.vocabulary = 50304, .layers = 12, .width = 768, .heads = 12, .context = 512},
                    16};

// A model whose parameters are on CUDA and hold no data.
gpt::Gpt model_on_cuda(const gpt::GptConfig& config) {
  gpt::Gpt model(config);
  for (at::Tensor& parameter : model->parameters())
    parameter.set_data(on_cuda_like(parameter.detach()));
  return model;
}

Captured capture_loss(const Setting& setting) {
  gpt::Gpt model = model_on_cuda(setting.config);
  std::vector<at::Tensor> inputs = model->parameters();
  std::vector<std::string> names;
  for (const auto& parameter : model->named_parameters()) names.push_back(parameter.key());
  for (const char* name : {"tokens", "targets"}) {
    inputs.push_back(on_cuda({setting.rows, setting.config.context}, at::kLong));
    names.emplace_back(name);
  }
  const size_t tokens = inputs.size() - 2;
  const Autocast autocast;
  return aten_bridge::capture({inputs, names}, [&](const std::vector<at::Tensor>&) {
    return std::vector{gpt::next_token_loss(model, inputs[tokens], inputs[tokens + 1])};
  });
}

TEST(GptOnCuda, IsCapturedWithItsBackward) {
  const Captured captured = capture_loss(kTiny);
  EXPECT_EQ(captured.joint.tangents, 1);
  const std::string text = print(captured.joint.graph);
  EXPECT_THAT(text, ::testing::HasSubstr("aten::_scaled_dot_product_flash_attention_backward"));
}

// FAKE_CUDA_DUMP=folder writes the two graphs of GPT-2 there, to be read and compiled elsewhere.
TEST(GptOnCuda, OfGpt2SizeIsPartitioned) {
  const Captured captured = capture_loss(kGpt2);
  const auto split = aten_bridge::partition(captured.joint, inductor::recompute_of);
  ASSERT_TRUE(verify(split.forward).ok());
  ASSERT_TRUE(verify(split.backward).ok());
  if (const char* folder = std::getenv("FAKE_CUDA_DUMP")) {
    std::ofstream(std::string(folder) + "/gpt2_forward.graph") << print(split.forward);
    std::ofstream(std::string(folder) + "/gpt2_backward.graph") << print(split.backward);
  }
}

}  // namespace
}  // namespace fake_cuda
