// The step of the optimizer that a package brings.
//   PackagedStep step(impl);           // PackageError where it brings none
//   step.zero_grad(); loss.backward(); step.step();
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "torchdyn/package/loaded_package.h"
#include "torchdyn/package/training_step.h"

namespace torchdyn {

class PackagedStep final : public TrainingStep {
 public:
  explicit PackagedStep(std::shared_ptr<const Package::Impl> package);

  void zero_grad() override;
  // Changes parameters, states, and the number of steps; parameters without a gradient stay.
  void step() override;
  void set_learning_rate(double rate) override;

 private:
  struct Parameter {
    at::Tensor tensor;
    std::vector<int64_t> order;    // of its dimensions in memory
    std::vector<at::Tensor> flat;  // itself and its states, in the order of memory
  };
  void step_of(const Parameter& parameter, const at::Tensor& number, const at::Tensor& rate) const;

  const std::shared_ptr<const Package::Impl> package_;
  const LoadedMethod& method_;
  std::vector<Parameter> parameters_;
};

}  // namespace torchdyn
