// Question: what do saving, loading and calling a package cost, beside the compiled function?
// Budget: loading takes less than a tenth of compiling with a cold cache; a call costs what the
// compiled function's costs.
//   bench_package [FOLDER]         // keeps the packages there
#include "torchdyn/package.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "bench/gpt/model.h"
#include "torchdyn/compile.h"

namespace {

using at::Tensor;
using Clock = std::chrono::steady_clock;

double milliseconds(const std::function<void()>& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The least of rounds of several runs, of one run.
double best(int runs, const std::function<void()>& run) {
  constexpr int kRounds = 7;
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round)
    least = std::min(least, milliseconds([&] {
                              for (int i = 0; i < runs; ++i) run();
                            }) / runs);
  return least;
}

// The compiled function and the loaded package, each as one call; false where they differ.
template <class Compiled>
bool compare(const char* name, const Compiled& compiled, const Tensor& x, const std::string& folder,
             int runs) {
  const std::string path = folder + "/" + name + ".td";
  const double first = milliseconds([&] { compiled(x); });
  const Tensor expected = compiled(x);
  const double save = milliseconds([&] { torchdyn::save(compiled, path); });
  const double load = best(5, [&] { torchdyn::load(path); });
  const torchdyn::Package package = torchdyn::load(path);
  if (!package({x})[0].equal(expected)) {
    std::printf("%s: the package gives other bits\n", name);
    return false;
  }
  const double ours = best(runs, [&] { package({x}); });
  const double theirs = best(runs, [&] { compiled(x); });
  std::printf("| %s | %.1f | %.1f | %.2f | %.1f | %.4f | %.4f |\n", name, first, save, load,
              static_cast<double>(std::filesystem::file_size(path)) / 1e6, theirs, ours);
  return true;
}

Tensor pointwise(const Tensor& x) { return (x.exp() + 1).relu() * 0.5; }

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  std::printf(
      "| | first call ms | save ms | load ms | file MB | compiled call ms | package call ms |\n"
      "|---|---|---|---|---|---|---|\n");
  bool same = compare("pointwise", torchdyn::compile(pointwise), torch::rand({4}), folder, 2000);
  gpt::Gpt model(gpt::GptConfig{});
  const Tensor tokens = torch::randint(128, {2, 128});
  const auto compiled = torchdyn::compile(model);
  {
    const at::NoGradGuard no_grad;
    same &= compare("gpt", compiled, tokens, folder, 5);
  }
  gpt::Gpt other(gpt::GptConfig{});
  same &= compare("gpt_training", torchdyn::compile(other), tokens, folder, 5);
  return same ? 0 : 1;
}
