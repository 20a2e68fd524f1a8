// The step of an optimizer as a program of our own, for a package: over a piece of any length of a
// parameter, its gradient and its states, with the step's number and the learning rate as inputs.
//   const OptimizerStep step("adamw lr=0.001");
//   auto calls = step.compile({{at::kFloat, at::kCPU}});   // p, g, states, number, rate -> nothing
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "torchdyn/calls.h"
#include "torchdyn/package/optimizer_text.h"

namespace torchdyn {

// What distinguishes parameters for a step.
using StepKind = std::pair<at::ScalarType, at::Device>;

class OptimizerStep {
 public:
  // Changes a piece (parameter, gradient, states) but for its gradient.
  using Function = std::function<void(const std::vector<at::Tensor>& piece,
                                      const at::Tensor& number, const at::Tensor& rate)>;

  // Settings and defaults are LibTorch's, as of Trainer. PackageError for another optimizer.
  explicit OptimizerStep(const std::string& text);

  const std::string& text() const { return text_; }
  double learning_rate() const { return rate_; }
  const std::vector<std::string>& state() const { return state_; }
  // Two a kind: pieces of two elements or more, and of one. PackageError where there is no
  // compiler.
  std::vector<std::unique_ptr<CompiledCall>> compile(const std::vector<StepKind>& kinds) const;

 private:
  std::string text_;
  double rate_ = 0;
  std::vector<std::string> state_;
  Function function_;
};

}  // namespace torchdyn
