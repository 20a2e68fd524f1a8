// One training of a GPT: its model, its AdamW, and the function that computes its loss.
//   Training setting{.corpus = corpus, .config = {.vocabulary = corpus.vocabulary()}, .seed = 7};
//   Trainer eager(setting, next_token_loss), compiled(setting, torchdyn::compile(next_token_loss));
//   eager.step(); compiled.step();       // same weights at first, same batches, same dropout
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/gpt/data.h"
#include "bench/gpt/model.h"

namespace gpt {

using LossFunction = std::function<Tensor(Gpt&, const Tensor& inputs, const Tensor& targets)>;

struct Training {
  const Corpus& corpus;
  GptConfig config;
  int64_t seed;
  int64_t rows = 8;  // of a batch
  c10::Device device = c10::kCPU;
  at::ScalarType dtype = at::kFloat;  // of the parameters
  bool autocast = false;              // the forward to bf16
};

// The same training in the next more exact arithmetic: without autocast, or else in float64. What
// the two are apart by is honest rounding.
Training more_exact(Training training);
// "float32", "bf16 autocast"
std::string arithmetic_of(const Training& training);

struct Step {
  double loss;
  double ms;                   // zero_grad, forward, backward and AdamW
  double forward_backward_ms;  // the part of it that is compiled
};

// Trainers of one training differ only by rounding, however their loss is computed: each step seeds
// LibTorch's generator anew.
class Trainer {
 public:
  Trainer(const Training& training, LossFunction loss);

  Step step();
  const std::vector<Step>& steps() const { return steps_; }
  Gpt& model() { return model_; }
  const Training& training() const { return training_; }

 private:
  Tensor forward(const Tensor& inputs, const Tensor& targets);

  Training training_;
  Gpt model_;
  torch::optim::AdamW optimizer_;
  LossFunction loss_;
  std::vector<Step> steps_;
};

// Each step's loss.
std::vector<double> losses_of(const Trainer& trainer);

// The middle round's milliseconds a step, when the steps are cut into rounds of equal length. The
// first step of all is left out: it may have compiled.
double median_round_ms(const std::vector<Step>& steps, size_t rounds, double Step::*ms = &Step::ms);

// Continues a piece of the text by tokens that the model thinks likely.
std::string sample_text(Trainer& trainer, int64_t length);

}  // namespace gpt
