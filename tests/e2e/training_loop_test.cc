// A GPT that trains compiled follows the one that trains in eager.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/gpt/losses.h"
#include "bench/gpt/memory_meter.h"
#include "bench/gpt/train.h"
#include "tests/e2e/compiled_once.h"
#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace gpt {
namespace {

const Corpus& corpus() {
  static const Corpus corpus([] {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i) + " of a short text\n";
    return text;
  }());
  return corpus;
}

Training small_gpt(double dropout) {
  return {corpus(),
          {.vocabulary = corpus().vocabulary(),
           .layers = 2,
           .width = 64,
           .heads = 2,
           .context = 32,
           .dropout = dropout},
          /*seed=*/3,
          /*rows=*/8,
          test_device()};
}

void train(Trainer& trainer, int steps) {
  for (int i = 0; i < steps; ++i) trainer.step();
}

void expect_losses_track_eager(const Training& training, int steps = 30) {
  const auto compiled_loss = torchdyn::compile(next_token_loss);
  Trainer eager(training, next_token_loss), compiled(training, compiled_loss);
  Trainer reference(more_exact(training), next_token_loss);
  for (Trainer* trainer : {&eager, &compiled, &reference}) train(*trainer, steps);

  expect_compiled_once(compiled_loss);
  EXPECT_LT(eager.steps().back().loss, (steps < 30 ? 0.95 : 0.8) * eager.steps().front().loss);
  const LossComparison comparison =
      compare_losses({losses_of(eager), losses_of(compiled), losses_of(reference)}, /*window=*/10,
                     /*exact_start=*/!training.autocast);
  EXPECT_TRUE(comparison.holds()) << "times eager's distance: " << comparison.share() << "\n"
                                  << comparison.table(arithmetic_of(reference.training()));
}

TEST(TrainingLoop, CompiledLossesTrackEagers) { expect_losses_track_eager(small_gpt(0)); }

TEST(TrainingLoop, CompiledLossesTrackEagersWithDropout) {
  expect_losses_track_eager(small_gpt(0.1));
}

// Autocast to bf16 rounds where eager rounds: what tells them apart is less than what tells eager
// in bf16 from eager in float32.
TEST(TrainingLoop, CompiledLossesTrackEagersUnderAutocast) {
  Training training = small_gpt(0);
  training.autocast = true;
  expect_losses_track_eager(training, test_device().is_cpu() ? 8 : 30);  // slow on a CPU
}

TEST(TrainingLoop, GradientsOfEveryParameterEqualEagers) {
  const auto compiled_loss = torchdyn::compile(next_token_loss);
  Trainer eager(small_gpt(0), next_token_loss), compiled(small_gpt(0), compiled_loss);
  train(eager, 1);
  train(compiled, 1);
  const auto expected = eager.model()->named_parameters();
  const auto actual = compiled.model()->named_parameters();
  for (const auto& parameter : expected)
    EXPECT_TRUE(
        torch::allclose(actual[parameter.key()].grad(), parameter.value().grad(), 1e-4, 1e-7))
        << parameter.key();
}

TEST(TrainingLoop, EvaluationModeIsAnotherVariant) {
  Trainer trainer(small_gpt(0.5), next_token_loss);
  Gpt& model = trainer.model();
  const Batch batch = corpus().batch(1, small_gpt(0).rows, 32);
  const Tensor inputs = batch.inputs.to(test_device()), targets = batch.targets.to(test_device());
  const auto compiled = torchdyn::compile(next_token_loss);
  compiled(model, inputs, targets);
  model->eval();
  EXPECT_TRUE(torch::allclose(compiled(model, inputs, targets),
                              next_token_loss(model, inputs, targets), 1e-5, 1e-6));
  EXPECT_EQ(torchdyn::explain(compiled).variants.size(), 2u);
}

// Of steps behind the first one, whose backward keeps what running it by operators would need.
TEST(TrainingLoop, PeakMemoryIsAtMostFivePercentAboveEagers) {
  auto peak = [](const LossFunction& loss) {
    const MemoryMeter before(test_device());
    Training training = small_gpt(0);
    training.rows = 64;
    Trainer trainer(training, loss);
    train(trainer, 1);
    const int64_t held = before.held_bytes();
    const MemoryMeter steps(test_device());
    train(trainer, 3);
    return static_cast<double>(held + steps.peak_bytes());
  };
  const double eager = peak(next_token_loss);
  EXPECT_LE(peak(torchdyn::compile(next_token_loss)), 1.05 * eager);
}

}  // namespace
}  // namespace gpt
