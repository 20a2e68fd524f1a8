// Where does the time of a first call go, in milliseconds a stage, and what does capture cost an
// operator? A GPT's training loss, forward and backward, of 4 and 12 layers; the host compiler's
// time is the demo's `compile` column. Budget: capture 35 ms per 1,000 operators, the other stages
// together less than that.
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "aten_bridge/graph/partition.h"
#include "aten_bridge/trace/capture.h"
#include "bench/gpt/model.h"
#include "inductor/backend/device_backend.h"
#include "inductor/lowering/lowering.h"
#include "inductor/passes/passes.h"
#include "inductor/schedule/schedule.h"

namespace {

using aten_bridge::Captured;
using aten_bridge::Graph;
using aten_bridge::Partition;
using aten_bridge::Tensors;
using inductor::LoopProgram;

// A GPT and its loss as capture sees them.
class Subject {
 public:
  explicit Subject(int64_t layers)
      : model_(gpt::GptConfig{.layers = layers}),
        tokens_(torch::randint(0, model_->config.vocabulary, {8, model_->config.context})),
        targets_(torch::randint_like(tokens_, 0, model_->config.vocabulary)) {
    add("tokens", tokens_);
    add("targets", targets_);
    for (const auto& parameter : model_->named_parameters())
      add(parameter.key(), parameter.value());
  }

  Captured capture() {
    return aten_bridge::capture({inputs_, names_}, [this](const Tensors& fakes) {
      return Tensors{gpt::next_token_loss(model_, fakes[0], fakes[1])};
    });
  }

 private:
  void add(const std::string& name, const torch::Tensor& tensor) {
    names_.push_back(name);
    inputs_.push_back(tensor);
  }

  gpt::Gpt model_;
  torch::Tensor tokens_, targets_;
  Tensors inputs_;
  std::vector<std::string> names_;
};

Partition partition(const Captured& captured) {
  return aten_bridge::partition(captured.joint, inductor::recompute_of);
}

std::vector<LoopProgram> lower(const Partition& split) {
  std::vector<LoopProgram> programs;
  programs.push_back(inductor::lower(split.forward));
  programs.push_back(inductor::lower(split.backward));
  return programs;
}

void run_passes(std::vector<LoopProgram>& programs) {
  for (LoopProgram& program : programs) inductor::run_passes(program);
}

void schedule(std::vector<LoopProgram>& programs) {
  const auto* cpu = inductor::backend_for({}).value();
  for (LoopProgram& program : programs) inductor::schedule(program, cpu->features());
}

void time_capture(benchmark::State& state) {
  Subject subject(state.range(0));
  size_t operators = 0;
  for (auto _ : state) {
    operators = subject.capture().joint.graph.nodes().size();
  }
  state.counters["operators"] = static_cast<double>(operators);
  state.counters["per_1000_operators"] = benchmark::Counter(
      static_cast<double>(operators) / 1000,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void time_partition(benchmark::State& state) {
  const Captured captured = Subject(state.range(0)).capture();
  for (auto _ : state) benchmark::DoNotOptimize(partition(captured));
}

void time_lower(benchmark::State& state) {
  const Partition split = partition(Subject(state.range(0)).capture());
  for (auto _ : state) benchmark::DoNotOptimize(lower(split));
}

// Stages that change a program in place get a fresh one each time, outside the timing.
template <class Stage, class Before>
void time_in_place(benchmark::State& state, Stage stage, Before before) {
  const Partition split = partition(Subject(state.range(0)).capture());
  for (auto _ : state) {
    state.PauseTiming();
    auto programs = std::make_unique<std::vector<LoopProgram>>(lower(split));
    before(*programs);
    state.ResumeTiming();
    stage(*programs);
    state.PauseTiming();
    programs.reset();
    state.ResumeTiming();
  }
}

void time_passes(benchmark::State& state) {
  time_in_place(state, run_passes, [](auto&) {});
}

void time_schedule(benchmark::State& state) { time_in_place(state, schedule, run_passes); }

#define STAGE(name)       \
  BENCHMARK(time_##name)  \
      ->Name(#name)       \
      ->ArgName("layers") \
      ->Arg(4)            \
      ->Arg(12)           \
      ->Unit(benchmark::kMillisecond)
STAGE(capture);
STAGE(partition);
STAGE(lower);
STAGE(passes);
STAGE(schedule);

}  // namespace

BENCHMARK_MAIN();
