#include "bench/gpt/model.h"

namespace gpt {
namespace {

torch::nn::LayerNorm layer_norm(const GptConfig& config) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.width}));
}

void initialize(torch::nn::Module& module) {
  if (auto* linear = module.as<torch::nn::Linear>()) {
    torch::nn::init::normal_(linear->weight, 0, 0.02);
    if (linear->bias.defined()) torch::nn::init::zeros_(linear->bias);
  } else if (auto* embedding = module.as<torch::nn::Embedding>()) {
    torch::nn::init::normal_(embedding->weight, 0, 0.02);
  }
}

}  // namespace

AttentionImpl::AttentionImpl(const GptConfig& config)
    : heads(config.heads),
      dropout_rate(config.dropout),
      qkv(config.width, 3 * config.width),
      project(config.width, config.width),
      dropout(config.dropout) {
  register_module("qkv", qkv);
  register_module("project", project);
  register_module("dropout", dropout);
}

Tensor AttentionImpl::forward(const Tensor& x) {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  auto split_heads = [&](const Tensor& t) {
    return t.view({batch, time, heads, width / heads}).transpose(1, 2);
  };
  auto parts = qkv(x).chunk(3, /*dim=*/-1);
  auto mixed = torch::scaled_dot_product_attention(
      split_heads(parts[0]), split_heads(parts[1]), split_heads(parts[2]), /*attn_mask=*/{},
      is_training() ? dropout_rate : 0.0, /*is_causal=*/true);
  return dropout(project(mixed.transpose(1, 2).reshape({batch, time, width})));
}

MlpImpl::MlpImpl(const GptConfig& config)
    : widen(config.width, 4 * config.width),
      narrow(4 * config.width, config.width),
      dropout(config.dropout) {
  register_module("widen", widen);
  register_module("narrow", narrow);
  register_module("dropout", dropout);
}

Tensor MlpImpl::forward(const Tensor& x) { return dropout(narrow(torch::gelu(widen(x)))); }

BlockImpl::BlockImpl(const GptConfig& config)
    : norm1(layer_norm(config)), norm2(layer_norm(config)), attention(config), mlp(config) {
  register_module("norm1", norm1);
  register_module("attention", attention);
  register_module("norm2", norm2);
  register_module("mlp", mlp);
}

Tensor BlockImpl::forward(const Tensor& x) {
  auto attended = x + attention(norm1(x));
  return attended + mlp(norm2(attended));
}

GptImpl::GptImpl(const GptConfig& config)
    : config(config),
      token_embedding(config.vocabulary, config.width),
      position_embedding(config.context, config.width),
      dropout(config.dropout),
      norm(layer_norm(config)),
      head(torch::nn::LinearOptions(config.width, config.vocabulary).bias(false)) {
  register_module("token_embedding", token_embedding);
  register_module("position_embedding", position_embedding);
  register_module("dropout", dropout);
  register_module("blocks", blocks);
  register_module("norm", norm);
  register_module("head", head);
  for (int64_t i = 0; i < config.layers; ++i) blocks->push_back(Block(config));
  apply(initialize);
}

Tensor GptImpl::forward(const Tensor& tokens) {
  auto positions = torch::arange(tokens.size(1), tokens.options());
  auto x = dropout(token_embedding(tokens) + position_embedding(positions));
  for (auto& block : *blocks) x = block->as<Block>()->forward(x);
  return head(norm(x));
}

int64_t GptImpl::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

Tensor next_token_loss(Gpt& model, const Tensor& inputs, const Tensor& targets) {
  auto logits = model(inputs);
  return torch::nn::functional::cross_entropy(logits.flatten(0, 1), targets.flatten());
}

}  // namespace gpt
