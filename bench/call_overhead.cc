// What does a call of a compiled function cost beyond its kernels, in microseconds?
// Four elements, so that the arithmetic is nothing. Budget: 15 us a compiled call, with gradient 25
// us more than without.
#include <string>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "torchdyn/compile.h"

namespace {

using torch::Tensor;

Tensor chain(const Tensor& x) { return x * 2 + 1; }

template <class Function>
void call(benchmark::State& state, const Function& function) {
  const auto x = torch::ones({4});
  const torch::NoGradGuard no_grad;
  for (auto _ : state) benchmark::DoNotOptimize(function(x));
}

template <class Function>
void call_with_gradient(benchmark::State& state, const Function& function) {
  const auto x = torch::ones({4}).requires_grad_();
  for (auto _ : state) function(x).sum().backward();
}

void eager(benchmark::State& state) { call(state, chain); }
void compiled(benchmark::State& state) { call(state, torchdyn::compile(chain)); }
void eager_with_gradient(benchmark::State& state) { call_with_gradient(state, chain); }
void compiled_with_gradient(benchmark::State& state) {
  call_with_gradient(state, torchdyn::compile(chain));
}

BENCHMARK(eager)->Unit(benchmark::kMicrosecond);
BENCHMARK(compiled)->Unit(benchmark::kMicrosecond);
BENCHMARK(eager_with_gradient)->Unit(benchmark::kMicrosecond);
BENCHMARK(compiled_with_gradient)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
