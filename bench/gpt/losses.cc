#include "bench/gpt/losses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpt {
namespace {

double mean(const std::vector<double>& losses, size_t begin, size_t end) {
  return std::accumulate(losses.begin() + static_cast<std::ptrdiff_t>(begin),
                         losses.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

double max_distance(const std::vector<double>& a, const std::vector<double>& b, size_t begin,
                    size_t end) {
  double most = 0;
  for (size_t i = begin; i < end; ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

double LossComparison::start() const { return windows.front().compiled_to_eager; }

double LossComparison::share() const {
  double worst = 0, compiled = 0, rounding = 0;
  for (const LossWindow& w : windows) {
    compiled = std::max(compiled, w.compiled_to_eager);
    rounding = std::max({rounding, w.eager_to_reference, kLastBits * std::abs(w.eager)});
    if (w.first > 1 || !exact_start) worst = std::max(worst, compiled / rounding);
  }
  return worst;
}

double LossComparison::max_distance() const {
  double most = 0;
  for (const LossWindow& w : windows) most = std::max(most, w.compiled_to_eager);
  return most;
}

std::string LossComparison::table(const std::string& reference) const {
  std::string text = absl::StrFormat("  %-10s %10s %10s %20s %20s\n", "steps", "eager", "compiled",
                                     "compiled - eager", "eager - " + reference);
  for (const LossWindow& w : windows)
    absl::StrAppendFormat(&text, "  %-10s %10.5f %10.5f %20.1e %20.1e\n",
                          absl::StrCat(w.first, "-", w.last), w.eager, w.compiled,
                          w.compiled_to_eager, w.eager_to_reference);
  return text;
}

LossComparison compare_losses(const Losses& losses, size_t window, bool exact_start) {
  LossComparison comparison{{}, exact_start};
  const size_t steps = losses.eager.size();
  for (size_t begin = 0; begin < steps; begin += window) {
    const size_t end = std::min(begin + window, steps);
    comparison.windows.push_back({begin + 1, end, mean(losses.eager, begin, end),
                                  mean(losses.compiled, begin, end),
                                  max_distance(losses.compiled, losses.eager, begin, end),
                                  max_distance(losses.eager, losses.reference, begin, end)});
  }
  return comparison;
}

}  // namespace gpt
