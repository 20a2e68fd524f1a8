// Trains a GPT in eager and compiled, side by side; see options.cc for what can be chosen.
#include <cstdlib>
#include <iostream>

#include <ATen/Parallel.h>

#include "absl/strings/str_format.h"

#include "bench/gpt/device.h"
#include "bench/gpt/presets.h"
#include "bench/gpt/report.h"

namespace gpt {
namespace {

constexpr int64_t kRounds = 5;
constexpr size_t kLossWindow = 10;

// Five rounds of steps, each first in eager and then compiled, so that both see the same machine.
void train_interleaved(Trainer& eager, Trainer& compiled, int64_t steps) {
  Progress progress(std::cout);
  auto show = [&](int64_t round, const char* name, const Trainer& trainer, bool last) {
    const Step& step = trainer.steps().back();
    progress.show(absl::StrFormat(
                      "training, round %d of %d: step %d of %d, %-8s loss %.4f, %.0f ms", round + 1,
                      kRounds, trainer.steps().size(), steps, name, step.loss, step.ms),
                  last);
  };
  for (int64_t round = 0; round < kRounds; ++round) {
    const auto end = static_cast<size_t>(steps * (round + 1) / kRounds);
    for (auto& [name, trainer] : {std::pair("eager", &eager), std::pair("compiled", &compiled)}) {
      while (trainer->steps().size() < end) {
        trainer->step();
        show(round, name, *trainer, trainer->steps().size() == end);
      }
    }
  }
}

// Eager in more exact arithmetic: its distance from eager is the measure of honest rounding.
void train_reference(Trainer& reference, int64_t steps) {
  Progress progress(std::cout);
  for (int64_t i = 1; i <= steps; ++i) {
    reference.step();
    progress.show(absl::StrFormat("eager in %s: step %d of %d", arithmetic_of(reference.training()),
                                  i, steps),
                  i == steps);
  }
}

// False when compiled losses do not track eager's.
bool compare(const Training& training, const Options& options) {
  const FreshKernelCache cache;
  print_training(std::cout, training,
                 options.text.empty() ? "the header files of LibTorch" : options.text);

  Measurements measured;
  std::cout << "Measuring first steps and memory in three fresh processes ..." << std::endl;
  measured.eager_first = first_steps_in_fresh_process(options, "eager");
  measured.cold_first = first_steps_in_fresh_process(options, "compiled");
  measured.warm_first = first_steps_in_fresh_process(options, "compiled");
  print_first_steps(std::cout, measured);

  const auto compiled_loss = torchdyn::compile(next_token_loss);
  Trainer eager(training, next_token_loss);
  Trainer compiled(training, compiled_loss);
  Trainer reference(more_exact(training), next_token_loss);
  train_interleaved(eager, compiled, options.steps);
  train_reference(reference, options.steps);

  for (auto& [times, trainer] :
       {std::pair(&measured.eager, &eager), std::pair(&measured.compiled, &compiled)})
    *times = {median_round_ms(trainer->steps(), kRounds),
              median_round_ms(trainer->steps(), kRounds, &Step::forward_backward_ms)};
  measured.losses =
      compare_losses({losses_of(eager), losses_of(compiled), losses_of(reference)}, kLossWindow,
                     /*exact_start=*/!training.autocast);
  measured.explanation = torchdyn::explain(compiled_loss);

  print_step_times(std::cout, measured);
  const bool tracks = print_losses(std::cout, measured, training);
  print_kernels(std::cout, measured);
  print_sample(std::cout, sample_text(compiled, /*length=*/80));
  std::cout
      << "Look next at: TORCHDYN_DUMP=all TORCHDYN_DUMP_DIR=dump bench/demo --steps 10, which "
         "leaves every stage's text in dump/.\n\n";
  print_result(std::cout, measured);
  return tracks;
}

// A build that was packed for another machine finds LibTorch's headers beside its libraries there.
std::string default_text() {
  if (const char* folder = std::getenv("TORCHDYN_TEXT")) return folder;
  return TORCHDYN_DEFAULT_TEXT_DIR;
}

bool wants_autocast(const Options& options, const Preset& preset, c10::Device device) {
  if (options.autocast.empty()) return preset.autocast && !device.is_cpu();
  if (options.autocast == "bf16") return true;
  if (options.autocast == "off") return false;
  throw UsageError("--autocast is bf16 or off, not " + options.autocast);
}

bool run(const Options& options) {
  if (options.help) {
    std::cout << help_text();
    return true;
  }
  if (options.threads > 0) at::set_num_threads(static_cast<int>(options.threads));
  const Preset& preset = find_preset(options.preset);
  const c10::Device device = open_device(options.device);
  GptConfig config = preset.config;
  const Corpus corpus(read_text(options.text.empty() ? default_text() : options.text),
                      config.vocabulary);
  corpus.check_long_enough(config.context);
  if (config.vocabulary == 0) config.vocabulary = corpus.vocabulary();
  config.dropout = options.dropout;
  const Training training{corpus,
                          config,
                          options.seed,
                          preset.rows,
                          device,
                          at::kFloat,
                          wants_autocast(options, preset, device)};
  if (options.first_steps_of.empty()) return compare(training, options);
  std::cout << nlohmann::json(first_steps(training, options)) << std::endl;
  return true;
}

}  // namespace
}  // namespace gpt

int main(int argc, char** argv) {
  try {
    return gpt::run(gpt::parse_options({argv + 1, argv + argc})) ? 0 : 1;
  } catch (const gpt::UsageError& error) {
    std::cerr << "torchdyn_demo: " << error.what() << "\n";
    return 2;
  } catch (const gpt::TextError& error) {
    std::cerr << "torchdyn_demo: " << error.what() << "\n";
    return 2;
  } catch (const gpt::DeviceError& error) {
    std::cerr << "torchdyn_demo: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "torchdyn_demo: " << error.what() << "\n";
    return 1;
  }
}
