// What the demo prints: each function prints one part, to a terminal or a file.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "bench/gpt/first_steps.h"
#include "bench/gpt/losses.h"
#include "bench/gpt/train.h"
#include "torchdyn/compile.h"

namespace gpt {

// All that was measured.
struct Measurements {
  FirstSteps eager_first, cold_first, warm_first;
  struct Times {
    double step_ms = 0, forward_backward_ms = 0;
  };
  Times eager, compiled;
  LossComparison losses;
  torchdyn::Explanation explanation;

  int kernels() const;  // different ones
};

// A line that is rewritten on a terminal; elsewhere one line every few steps.
class Progress {
 public:
  explicit Progress(std::ostream& out);
  ~Progress();  // ends the line
  void show(const std::string& line, bool worth_keeping);

 private:
  std::ostream& out_;
  bool terminal_;
  size_t shown_ = 0;
};

void print_training(std::ostream& out, const Training& training, const std::string& text);
void print_first_steps(std::ostream& out, const Measurements& measured);
void print_step_times(std::ostream& out, const Measurements& measured);
// Whether compiled losses are as near to eager's as they must be.
bool print_losses(std::ostream& out, const Measurements& measured, const Training& training);
void print_kernels(std::ostream& out, const Measurements& measured);
void print_sample(std::ostream& out, const std::string& text);
void print_result(std::ostream& out, const Measurements& measured);

}  // namespace gpt
