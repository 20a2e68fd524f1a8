// A character GPT in plain LibTorch, written as one would without thinking of compilers.
//   torch::manual_seed(7);
//   Gpt model(GptConfig{.vocabulary = corpus.vocabulary()});
//   auto logits = model(tokens);                            // i64 [batch, time] -> f32 [batch,
//   time, vocabulary] auto loss = next_token_loss(model, inputs, targets);    // a scalar;
//   backward() as usual
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace gpt {

using torch::Tensor;

struct GptConfig {
  int64_t vocabulary = 128;
  int64_t layers = 4;
  int64_t width = 256;
  int64_t heads = 4;
  int64_t context = 128;
  double dropout = 0;
};

struct AttentionImpl : torch::nn::Module {
  explicit AttentionImpl(const GptConfig& config);
  Tensor forward(const Tensor& x);

  int64_t heads;
  double dropout_rate;
  torch::nn::Linear qkv, project;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(Attention);

struct MlpImpl : torch::nn::Module {
  explicit MlpImpl(const GptConfig& config);
  Tensor forward(const Tensor& x);

  torch::nn::Linear widen, narrow;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(Mlp);

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(const GptConfig& config);
  Tensor forward(const Tensor& x);

  torch::nn::LayerNorm norm1, norm2;
  Attention attention;
  Mlp mlp;
};
TORCH_MODULE(Block);

struct GptImpl : torch::nn::Module {
  explicit GptImpl(const GptConfig& config);
  Tensor forward(const Tensor& tokens);
  int64_t parameter_count() const;

  GptConfig config;
  torch::nn::Embedding token_embedding, position_embedding;
  torch::nn::Dropout dropout;
  torch::nn::ModuleList blocks;
  torch::nn::LayerNorm norm;
  torch::nn::Linear head;
};
TORCH_MODULE(Gpt);

// Mean cross-entropy of predicting targets[b, t] from inputs[b, 0..t].
Tensor next_token_loss(Gpt& model, const Tensor& inputs, const Tensor& targets);

}  // namespace gpt
