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

inline constexpr int64_t kBatchRows = 8;

struct Training {
  const Corpus& corpus;
  GptConfig config;
  int64_t seed;
};

struct Step {
  double loss;
  double ms;  // zero_grad, forward, backward and AdamW
};

// Trainers of one training differ only by rounding, whatever their dtype and however their loss is
// computed: each step seeds LibTorch's generator anew.
class Trainer {
 public:
  Trainer(const Training& training, LossFunction loss, at::ScalarType dtype = torch::kFloat32);

  Step step();
  const std::vector<Step>& steps() const { return steps_; }
  Gpt& model() { return model_; }

 private:
  Training training_;
  Gpt model_;
  torch::optim::AdamW optimizer_;
  LossFunction loss_;
  std::vector<Step> steps_;
};

// The middle round's milliseconds a step, when the steps are cut into rounds of equal length. The
// first step of all is left out: it may have compiled.
double median_round_ms(const std::vector<Step>& steps, size_t rounds);

// How far two trainings and their float64 twin are apart in some consecutive steps.
struct LossWindow {
  size_t first, last;         // steps, counted from 1
  double eager, compiled;     // mean loss
  double compiled_to_eager;   // largest distance in a step
  double eager_to_reference;  // the same: what float32's rounding does to this training
};
std::vector<LossWindow> compare_losses(const std::vector<Step>& eager,
                                       const std::vector<Step>& compiled,
                                       const std::vector<Step>& reference, size_t window);

// Continues the prompt by characters that the model thinks likely.
std::string sample_text(Gpt& model, const Corpus& corpus, int64_t length);

}  // namespace gpt
