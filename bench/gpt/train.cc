#include "bench/gpt/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "bench/gpt/device.h"

namespace gpt {
namespace {

// Weights are drawn on the CPU, so that they are the same on every device.
Gpt make_model(const Training& training) {
  torch::manual_seed(static_cast<uint64_t>(training.seed));
  Gpt model(training.config);
  model->to(training.device, training.dtype);
  return model;
}

template <class Function>
double milliseconds(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double mean(const std::vector<Step>& steps, size_t begin, size_t end, double Step::*field) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += steps[i].*field;
  return sum / static_cast<double>(end - begin);
}

}  // namespace

Training more_exact(Training training) {
  if (!training.autocast) training.dtype = at::kDouble;
  training.autocast = false;
  return training;
}

std::string arithmetic_of(const Training& training) {
  if (training.autocast) return "bf16 autocast";
  return training.dtype == at::kDouble ? "float64" : "float32";
}

Trainer::Trainer(const Training& training, LossFunction loss)
    : training_(training),
      model_(make_model(training)),
      optimizer_(model_->parameters(), torch::optim::AdamWOptions(3e-4)),
      loss_(std::move(loss)) {}

Step Trainer::step() {
  const int64_t seed = training_.seed + static_cast<int64_t>(steps_.size());
  const Batch batch = training_.corpus.batch(seed, training_.rows, training_.config.context);
  const Tensor inputs = batch.inputs.to(training_.device);
  const Tensor targets = batch.targets.to(training_.device);
  torch::manual_seed(static_cast<uint64_t>(seed));
  Step step{};
  step.ms = milliseconds([&] {
    optimizer_.zero_grad();
    Tensor loss;
    step.forward_backward_ms = milliseconds([&] {
      loss = forward(inputs, targets);
      loss.backward();
      synchronize(training_.device);
    });
    optimizer_.step();
    step.loss = loss.item<double>();
    synchronize(training_.device);
  });
  steps_.push_back(step);
  return step;
}

Tensor Trainer::forward(const Tensor& inputs, const Tensor& targets) {
  const Autocast autocast(training_.device, training_.autocast);
  return loss_(model_, inputs, targets);
}

std::vector<double> losses_of(const Trainer& trainer) {
  std::vector<double> losses;
  for (const Step& step : trainer.steps()) losses.push_back(step.loss);
  return losses;
}

double median_round_ms(const std::vector<Step>& steps, size_t rounds, double Step::*ms) {
  std::vector<double> times;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t begin = std::max<size_t>(1, steps.size() * round / rounds);
    times.push_back(mean(steps, begin, steps.size() * (round + 1) / rounds, ms));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

std::string sample_text(Trainer& trainer, int64_t length) {
  const torch::NoGradGuard no_grad;
  Gpt& model = trainer.model();
  const Corpus& corpus = trainer.training().corpus;
  const int64_t context = model->config.context;
  model->eval();
  auto text = corpus.batch(/*seed=*/0, /*rows=*/1, context).inputs.to(trainer.training().device);
  for (int64_t i = 0; i < length; ++i) {
    // A vocabulary may be larger than the text has tokens.
    auto logits = model(text.narrow(1, text.size(1) - context, context))
                      .select(1, -1)
                      .narrow(1, 0, corpus.vocabulary());
    text = torch::cat({text, torch::multinomial(torch::softmax(logits / 0.8, -1), 1)}, 1);
  }
  model->train();
  return corpus.decode(text.narrow(1, context, length));
}

}  // namespace gpt
