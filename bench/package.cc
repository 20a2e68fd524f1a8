// Question: what do saving, loading and calling a package cost, beside the compiled function, and a
// training step with the package's own optimizer beside LibTorch's?
// Budget: a call costs what the compiled function's costs, within 2 %; in a process that has
// LibTorch, the first result is there 0.15 s after load() began where the package is of GPT-2's
// size, and 0.2 s after it where it has 5 GB.
//   bench_package [FOLDER] [cuda] [large]      // keeps the packages there; large: that of 5 GB,
//   too
#include "torchdyn/package.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/gpt/device.h"
#include "bench/gpt/model.h"
#include "bench/gpt/presets.h"
#include "torchdyn/compile.h"

namespace {

using at::Tensor;
using Clock = std::chrono::steady_clock;

double milliseconds(const std::function<void()>& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Of all threads of this process: what a busy machine leaves as it is.
double processor_milliseconds(const std::function<void()>& run) {
  const std::clock_t start = std::clock();
  run();
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

struct Setting {
  std::string folder = std::filesystem::temp_directory_path().string();
  std::string device_name = "cpu";
  bool large = false;
  c10::Device device = c10::kCPU;

  std::string path(const std::string& name) const { return folder + "/" + name + ".td"; }
};

// ---- Beside the compiled function ---------------------------------------------------------------

struct Pair {
  double ours = 1e9, theirs = 1e9;  // milliseconds of a call, the least of rounds; on a CPU its own
};

Pair in_turns(const Setting& setting, int runs, const std::function<void()>& ours,
              const std::function<void()>& theirs) {
  constexpr int kRounds = 15;
  const auto clock = setting.device.is_cpu() ? processor_milliseconds : milliseconds;
  const auto time = [&](const std::function<void()>& run) {
    return clock([&] {
             for (int i = 0; i < runs; ++i) run();
             gpt::synchronize(setting.device);
           }) /
           runs;
  };
  Pair least;
  for (int round = 0; round < kRounds; ++round) {
    least.ours = std::min(least.ours, time(ours));
    least.theirs = std::min(least.theirs, time(theirs));
  }
  return least;
}

// Saves what a call of `compiled` has compiled, and times both; false where results differ.
template <class Compiled>
bool compare(const Setting& setting, const char* name, const Compiled& compiled, const Tensor& x,
             int runs) {
  const std::string path = setting.path(name);
  const double first = milliseconds([&] { compiled(x); });
  const Tensor expected = compiled(x);
  const double save = milliseconds([&] { torchdyn::save(compiled, path); });
  const torchdyn::Package package = torchdyn::load(path);
  if (!package({x})[0].equal(expected)) {
    std::printf("%s: the package gives other bits\n", name);
    return false;
  }
  const Pair call = in_turns(
      setting, runs, [&] { package({x}); }, [&] { compiled(x); });
  std::printf("| %s | %.0f | %.0f | %.1f | %.4f | %.4f | %.3f |\n", name, first, save,
              static_cast<double>(std::filesystem::file_size(path)) / 1e6, call.theirs, call.ours,
              call.ours / call.theirs);
  return true;
}

Tensor pointwise(const Tensor& x) { return (x.exp() + 1).relu() * 0.5; }

gpt::Gpt make_gpt(const Setting& setting, gpt::GptConfig config,
                  at::ScalarType dtype = at::kFloat) {
  gpt::Gpt model(config);
  model->to(setting.device, dtype);
  return model;
}

Tensor tokens_of(const Setting& setting, int64_t rows, int64_t columns) {
  return torch::randint(128, {rows, columns}, torch::device(setting.device).dtype(at::kLong));
}

bool compare_calls(const Setting& setting) {
  std::printf(
      "| | first call ms | save ms | file MB | compiled call ms | package call ms | times |\n"
      "|---|---|---|---|---|---|---|\n");
  bool same = compare(setting, "pointwise", torchdyn::compile(pointwise),
                      torch::rand({4}, setting.device), 20000);
  gpt::Gpt small = make_gpt(setting, {}), trained = make_gpt(setting, {});
  same &=
      compare(setting, "gpt_training", torchdyn::compile(trained), tokens_of(setting, 2, 128), 3);
  const at::NoGradGuard no_grad;
  same &= compare(setting, "gpt", torchdyn::compile(small), tokens_of(setting, 2, 128), 3);
  std::vector<std::pair<const char*, at::ScalarType>> rows = {{"gpt2", at::kFloat}};
  if (!setting.device.is_cpu()) rows.emplace_back("gpt2_bf16", at::kBFloat16);
  for (auto [name, dtype] : rows) {
    gpt::Gpt model = make_gpt(setting, gpt::find_preset("gpt2").config, dtype);
    same &= compare(setting, name, torchdyn::compile(model), tokens_of(setting, 1, 16), 3);
  }
  return same;
}

// ---- Steps --------------------------------------------------------------------------------------

// A training step on a package, the optimizer LibTorch's and the package's own.
void compare_steps(const Setting& setting) {
  gpt::Gpt model = make_gpt(setting, {});
  const Tensor tokens = tokens_of(setting, 2, 128), targets = tokens_of(setting, 2, 128);
  const auto loss = torchdyn::compile(gpt::next_token_loss);
  loss(model, tokens, targets);
  const std::string path = setting.path("gpt_step");
  torchdyn::save(loss, path, {.optimizer = "adamw lr=0.001"});
  torchdyn::Trainer own(torchdyn::load(path)), libtorchs(torchdyn::load(path), "adamw lr=0.001");
  const std::vector<Tensor> batch = {tokens, targets};
  const Pair step = in_turns(
      setting, 1, [&] { own.step(batch); }, [&] { libtorchs.step(batch); });
  std::printf(
      "\n| a training step | LibTorch's AdamW ms | the package's own ms |\n|---|---|---|\n"
      "| gpt | %.2f | %.2f |\n",
      step.theirs, step.ours);
}

// ---- In a process of its own --------------------------------------------------------------------

// What such a process does, and prints as the rest of a row.
int load_and_call(const std::string& path, const std::string& device_name) {
  Setting setting;
  const double start_up = milliseconds([&] {
    setting.device = gpt::open_device(device_name);
    const Tensor x = torch::ones({32, 32}, setting.device);
    if (!setting.device.is_cpu()) x.mm(x);  // the context and cuBLAS's handle
    gpt::synchronize(setting.device);
  });
  const at::NoGradGuard no_grad;
  const Tensor tokens = tokens_of(setting, 1, 16);
  std::vector<torchdyn::Package> package;
  const auto call = [&] { return package[0]({tokens})[0].sum().item<double>(); };
  double load = 0, first = 0;
  const double processor = processor_milliseconds([&] {
    load = milliseconds([&] { package.push_back(torchdyn::load(path)); });
    first = milliseconds(call);
  });
  std::printf("%.1f | %.1f | %.1f | %.1f | %.1f |\n", start_up, load, first, load + first,
              processor);
  return 0;
}

void in_fresh_processes(const Setting& setting, const char* name) {
  constexpr int kProcesses = 5;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = self + " --load " + setting.path(name) + " " + setting.device_name;
  for (int process = 0; process < kProcesses; ++process) {
    std::printf("| %s | ", name);
    std::fflush(stdout);
    if (std::system(command.c_str()) != 0) return;
  }
}

Tensor embed(const Tensor& table, const Tensor& tokens) {
  return torch::embedding(table, tokens).square().mean(-1);
}

void save_large(const Setting& setting) {
  const at::NoGradGuard no_grad;
  const Tensor table = torch::zeros({1'310'720, 1024});
  torchdyn::Options options;
  options.state = {table};
  const auto compiled =
      torchdyn::compile([table](const Tensor& tokens) { return embed(table, tokens); }, options);
  compiled(tokens_of(setting, 1, 16));
  torchdyn::save(compiled, setting.path("large"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "--load") return load_and_call(words[1], words[2]);
  Setting setting;
  for (const std::string& word : words) {
    if (word == "cuda")
      setting.device_name = word;
    else if (word == "large")
      setting.large = true;
    else
      setting.folder = word;
  }
  setting.device = gpt::open_device(setting.device_name);
  const bool same = compare_calls(setting);
  compare_steps(setting);
  std::printf(
      "\n| a fresh process | start-up ms | load ms | first call ms | both ms | of processors ms |\n"
      "|---|---|---|---|---|---|\n");
  in_fresh_processes(setting, "gpt2");
  if (!setting.device.is_cpu()) in_fresh_processes(setting, "gpt2_bf16");
  if (setting.large) {
    save_large(setting);
    in_fresh_processes(setting, "large");
    std::filesystem::remove(setting.path("large"));
  }
  return same ? 0 : 1;
}
