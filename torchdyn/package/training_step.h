// What a Trainer does beside forward and backward.
#pragma once

namespace torchdyn {

class TrainingStep {
 public:
  virtual ~TrainingStep() = default;
  virtual void zero_grad() = 0;
  virtual void step() = 0;
  virtual void set_learning_rate(double rate) = 0;
};

}  // namespace torchdyn
