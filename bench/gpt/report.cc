#include "bench/gpt/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <ATen/Parallel.h>
#include <unistd.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace gpt {
namespace {

constexpr size_t kKernelsShown = 6;

const char* met(bool holds) { return holds ? "holds" : "DOES NOT HOLD"; }

std::string first_steps_row(const char* name, const FirstSteps& f) {
  return absl::StrFormat("  %-22s %8.2f s %11.2f s %9.2f s %9.2f s %10.1f MB %9.0f MB\n", name,
                         f.start_up_s, f.first_s, f.capture_s, f.compile_s, f.peak_mb,
                         f.peak_resident_mb);
}

// "aten::mm x17, aten::addmm x8"
std::string with_counts(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first);
    if (entry.second > 1) absl::StrAppend(out, " x", entry.second);
  });
}

void print_graph(std::ostream& out, const torchdyn::Explanation::Graph& graph) {
  out << absl::StrFormat("  %s: %d kernels", graph.name, graph.kernels.size());
  out << "; extern calls: " << with_counts(graph.extern_calls) << "\n";
  auto kernels = graph.kernels;  // those that fuse most first
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a.origins.size() > b.origins.size();
  });
  if (kernels.size() > kKernelsShown) kernels.resize(kKernelsShown);
  for (const auto& kernel : kernels)
    out << absl::StrFormat("    %s x%d: %s\n", kernel.name, kernel.launches,
                           with_counts(kernel.origins));
}

}  // namespace

int Measurements::kernels() const {
  size_t count = 0;
  for (const auto& variant : explanation.variants)
    for (const auto& graph : variant.graphs) count += graph.kernels.size();
  return static_cast<int>(count);
}

Progress::Progress(std::ostream& out) : out_(out), terminal_(isatty(STDOUT_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_ && shown_ > 0) out_ << std::endl;
}

void Progress::show(const std::string& line, bool worth_keeping) {
  if (terminal_) {
    // Spaces wipe what a longer line left.
    out_ << "\r" << line << std::string(shown_ > line.size() ? shown_ - line.size() : 0, ' ')
         << std::flush;
    shown_ = line.size();
  } else if (worth_keeping) {
    out_ << line << std::endl;
  }
}

void print_training(std::ostream& out, const Training& training, const std::string& text) {
  const GptConfig& config = training.config;
  out << absl::StrFormat(
      "A GPT, %d layers, width %d, %d heads, context %d, batch %d, dropout %g, AdamW;\n"
      "%.1f million parameters, %s, on %s, %d threads.\n"
      "Text: %s, %d tokens, %d different ones of %d.\n\n",
      config.layers, config.width, config.heads, config.context, training.rows, config.dropout,
      static_cast<double>(Gpt(config)->parameter_count()) * 1e-6, arithmetic_of(training),
      training.device.str(), at::get_num_threads(), text, training.corpus.size(),
      training.corpus.vocabulary(), config.vocabulary);
}

void print_first_steps(std::ostream& out, const Measurements& m) {
  out << absl::StrFormat("  %-22s %10s %13s %11s %11s %13s %12s\n", "in a fresh process",
                         "start-up", "first step", "capture", "compile", "peak tensors", "resident")
      << first_steps_row("eager", m.eager_first)
      << first_steps_row("compiled, cold cache", m.cold_first)
      << first_steps_row("compiled, warm cache", m.warm_first) << std::endl;
}

void print_step_times(std::ostream& out, const Measurements& m) {
  out << "\nMedian of five interleaved rounds:\n";
  for (const auto& [what, ms] :
       {std::pair("a step", &Measurements::Times::step_ms),
        {"forward and backward", &Measurements::Times::forward_backward_ms}})
    out << absl::StrFormat("  %-21s eager %.1f ms, compiled %.1f ms, %.2f times as fast\n", what,
                           m.eager.*ms, m.compiled.*ms, m.eager.*ms / (m.compiled.*ms));
}

bool print_losses(std::ostream& out, const Measurements& m, const Training& training) {
  const LossComparison& losses = m.losses;
  const std::string exact = arithmetic_of(more_exact(training));
  out << "\nLoss of the same batches, and the largest distance in a step:\n" << losses.table(exact);
  if (losses.exact_start)
    out << absl::StrFormat("  steps 1-%d within %.0e: %s (%.1e)\n", losses.windows.front().last,
                           kFirstStepsTolerance, met(losses.starts_exactly()), losses.start());
  if (losses.windows.size() > 1 || !losses.exact_start)
    out << absl::StrFormat("  %swithin %g times the distance of eager in %s from %s: %s (%.2f)\n",
                           losses.exact_start ? "later " : "", kRoundingFactor,
                           arithmetic_of(training), exact, met(losses.follows()), losses.share());
  return losses.holds();
}

void print_kernels(std::ostream& out, const Measurements& m) {
  for (const auto& variant : m.explanation.variants) {
    if (!variant.eager_reason.empty()) {
      out << "\nRan in eager: " << variant.eager_reason << "\n";
      continue;
    }
    out << absl::StrFormat("\nCompiled into %d graphs and %d kernels, from explain():\n",
                           variant.graphs.size(), m.kernels());
    for (const auto& graph : variant.graphs) print_graph(out, graph);
  }
}

void print_sample(std::ostream& out, const std::string& text) {
  out << "\nThe compiled model writes: " << absl::CEscape(text) << "\n";
}

void print_result(std::ostream& out, const Measurements& m) {
  auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  const nlohmann::ordered_json result = {
      {"eager_ms", rounded(m.eager.step_ms)},
      {"compiled_ms", rounded(m.compiled.step_ms)},
      {"eager_forward_backward_ms", rounded(m.eager.forward_backward_ms)},
      {"compiled_forward_backward_ms", rounded(m.compiled.forward_backward_ms)},
      {"eager_first_s", rounded(m.eager_first.first_s)},
      {"first_s", rounded(m.cold_first.first_s)},
      {"warm_first_s", rounded(m.warm_first.first_s)},
      {"max_loss_diff", m.losses.max_distance()},
      {"kernels", m.kernels()},
      {"peak_mb_eager", rounded(m.eager_first.peak_mb)},
      {"peak_mb_compiled", rounded(std::max(m.cold_first.peak_mb, m.warm_first.peak_mb))},
  };
  out << "result: " << result.dump() << std::endl;
}

}  // namespace gpt
