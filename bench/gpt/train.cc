#include "bench/gpt/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace gpt {
namespace {

Gpt make_model(const Training& training, at::ScalarType dtype) {
  torch::manual_seed(static_cast<uint64_t>(training.seed));
  Gpt model(training.config);
  model->to(dtype);
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

Trainer::Trainer(const Training& training, LossFunction loss, at::ScalarType dtype)
    : training_(training),
      model_(make_model(training, dtype)),
      optimizer_(model_->parameters(), torch::optim::AdamWOptions(3e-4)),
      loss_(std::move(loss)) {}

Step Trainer::step() {
  const int64_t seed = training_.seed + static_cast<int64_t>(steps_.size());
  const Batch batch = training_.corpus.batch(seed, kBatchRows, training_.config.context);
  torch::manual_seed(static_cast<uint64_t>(seed));
  Step step{};
  step.ms = milliseconds([&] {
    optimizer_.zero_grad();
    auto loss = loss_(model_, batch.inputs, batch.targets);
    loss.backward();
    optimizer_.step();
    step.loss = loss.item<double>();
  });
  steps_.push_back(step);
  return step;
}

double median_round_ms(const std::vector<Step>& steps, size_t rounds) {
  std::vector<double> times;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t begin = std::max<size_t>(1, steps.size() * round / rounds);
    times.push_back(mean(steps, begin, steps.size() * (round + 1) / rounds, &Step::ms));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

std::vector<LossWindow> compare_losses(const std::vector<Step>& eager,
                                       const std::vector<Step>& compiled,
                                       const std::vector<Step>& reference, size_t window) {
  std::vector<LossWindow> windows;
  for (size_t begin = 0; begin < eager.size(); begin += window) {
    const size_t end = std::min(begin + window, eager.size());
    LossWindow w{begin + 1,
                 end,
                 mean(eager, begin, end, &Step::loss),
                 mean(compiled, begin, end, &Step::loss),
                 0,
                 0};
    for (size_t i = begin; i < end; ++i) {
      w.compiled_to_eager =
          std::max(w.compiled_to_eager, std::abs(compiled[i].loss - eager[i].loss));
      w.eager_to_reference =
          std::max(w.eager_to_reference, std::abs(eager[i].loss - reference[i].loss));
    }
    windows.push_back(w);
  }
  return windows;
}

std::string sample_text(Gpt& model, const Corpus& corpus, int64_t length) {
  const torch::NoGradGuard no_grad;
  const int64_t context = model->config.context;
  model->eval();
  auto text = corpus.batch(/*seed=*/0, /*rows=*/1, context).inputs;
  for (int64_t i = 0; i < length; ++i) {
    auto logits = model(text.narrow(1, text.size(1) - context, context)).select(1, -1);
    text = torch::cat({text, torch::multinomial(torch::softmax(logits / 0.8, -1), 1)}, 1);
  }
  model->train();
  return corpus.decode(text.narrow(1, context, length));
}

}  // namespace gpt
