// Are the losses of a compiled training eager's? They are as near to them as rounding leaves them.
//   const LossComparison c = compare_losses({eager, compiled, reference}, /*window=*/10);
//   if (!c.holds()) std::cout << c.table("float64");
// Two trainings in one arithmetic part, however they round; how fast is what eager's distance from
// eager in more exact arithmetic tells.
#pragma once

#include <string>
#include <vector>

namespace gpt {

constexpr double kFirstStepsTolerance = 1e-5;
constexpr double kRoundingFactor = 2;
// No float32 mean of many losses is sure to more than this share of it; that eager's is nearer to
// float64 is luck.
constexpr double kLastBits = 0x1p-22;

// Of the same steps.
struct Losses {
  std::vector<double> eager, compiled;
  std::vector<double> reference;  // eager, in more exact arithmetic
};

// Some consecutive steps.
struct LossWindow {
  size_t first, last;         // steps, counted from 1
  double eager, compiled;     // mean loss
  double compiled_to_eager;   // largest distance in a step
  double eager_to_reference;  // the same: what rounding does to this training
};

struct LossComparison {
  std::vector<LossWindow> windows;
  // Weights and arithmetic of the first window are as good as the same, so that its losses are too;
  // not so under autocast.
  bool exact_start;

  double start() const;  // compiled - eager in the first window
  // Largest share of compiled - eager in eager - reference, after an exact start. Trainings that
  // have parted differ by more on one batch and less on the next: the largest distances so far are
  // compared.
  double share() const;
  bool starts_exactly() const { return start() <= kFirstStepsTolerance; }
  bool follows() const { return share() <= kRoundingFactor; }
  bool holds() const { return (!exact_start || starts_exactly()) && follows(); }
  double max_distance() const;  // of compiled and eager

  std::string table(const std::string& reference) const;
};

LossComparison compare_losses(const Losses& losses, size_t window, bool exact_start = true);

}  // namespace gpt
