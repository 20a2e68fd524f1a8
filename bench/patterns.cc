// How much faster than eager are the patterns that models are made of, one kernel each?
// 4096 x 1024 float32. Budget: GELU chain, LayerNorm + GELU and softmax faster than eager, the
// others no slower.
#include <cmath>
#include <string>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace {

using torch::Tensor;

constexpr int64_t kRows = 4096, kColumns = 1024;

Tensor gelu_chain(const Tensor& x, const Tensor&) {
  return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

Tensor layer_norm_gelu(const Tensor& x, const Tensor&) {
  return torch::gelu(torch::layer_norm(x, {kColumns}));
}

Tensor softmax(const Tensor& x, const Tensor&) { return torch::softmax(x, -1); }

Tensor column_sum(const Tensor& x, const Tensor&) { return x.sum(0); }

Tensor transpose_add(const Tensor& x, const Tensor& y) { return x + y.t(); }

Tensor tanh_exp(const Tensor& x, const Tensor&) { return torch::tanh(x) + torch::exp(x); }

struct Pattern {
  const char* name;
  Tensor (*function)(const Tensor&, const Tensor&);
  const char* peer;  // torch.compile on a like machine, as recorded: eager -> compiled
};

const Pattern kPatterns[] = {
    {"gelu_chain", gelu_chain, "torch.compile: 47.7 -> 7.6 ms"},
    {"layer_norm_gelu", layer_norm_gelu, "torch.compile: 24.8 -> 9.2 ms"},
    {"softmax", softmax, "torch.compile: 7.5 -> 5.8 ms"},
    {"column_sum", column_sum, "torch.compile: 2.8 -> 4.7 ms"},
    {"transpose_add", transpose_add, "torch.compile: 17.5 -> 9.2 ms"},
    {"tanh_exp", tanh_exp, "torch.compile: 19.8 -> 11.1 ms"},
};

struct Inputs {
  Tensor x = torch::randn({kRows, kColumns}), y = torch::randn({kColumns, kRows});
};

const Inputs& inputs() {
  static const Inputs inputs;
  return inputs;
}

void time_eager(benchmark::State& state, const Pattern& pattern) {
  const torch::NoGradGuard no_grad;
  const auto& [x, y] = inputs();
  for (auto _ : state) benchmark::DoNotOptimize(pattern.function(x, y));
}

// Times nothing that is not compiled or not equal to eager.
void time_compiled(benchmark::State& state, const Pattern& pattern) {
  const torch::NoGradGuard no_grad;
  const auto& [x, y] = inputs();
  const auto compiled = torchdyn::compile(pattern.function);
  const bool equal = torch::allclose(compiled(x, y), pattern.function(x, y), 1e-4, 1e-4);
  const auto variant = torchdyn::explain(compiled).variants.at(0);
  if (!variant.eager_reason.empty()) return state.SkipWithError(variant.eager_reason.c_str());
  if (!equal) return state.SkipWithError("differs from eager");
  for (auto _ : state) benchmark::DoNotOptimize(compiled(x, y));
  state.counters["kernels"] = static_cast<double>(variant.graphs.at(0).kernels.size());
  state.SetLabel(pattern.peer);
}

void register_patterns() {
  for (const Pattern& pattern : kPatterns) {
    const std::string name = pattern.name;
    auto add = [&](const std::string& suffix, auto time) {
      benchmark::RegisterBenchmark(
          (name + suffix).c_str(),
          [&pattern, time](benchmark::State& state) { time(state, pattern); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    };
    add("/eager", time_eager);
    add("/compiled", time_compiled);
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_patterns();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
