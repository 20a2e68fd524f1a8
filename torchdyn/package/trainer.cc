#include <mutex>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "torchdyn/package.h"
#include "torchdyn/package/optimizer_text.h"
#include "torchdyn/package/packaged_step.h"

namespace torchdyn {
namespace {

using Parameters = std::vector<at::Tensor>;

std::unique_ptr<torch::optim::Optimizer> make_sgd(Parameters parameters, OptimizerText& text) {
  torch::optim::SGDOptions options(text.take("lr", 1e-3));
  options.momentum(text.take("momentum", options.momentum()));
  options.dampening(text.take("dampening", options.dampening()));
  options.weight_decay(text.take("weight_decay", options.weight_decay()));
  options.nesterov(text.take("nesterov", options.nesterov()) != 0);
  return std::make_unique<torch::optim::SGD>(std::move(parameters), options);
}

std::unique_ptr<torch::optim::Optimizer> make_adamw(Parameters parameters, OptimizerText& text) {
  torch::optim::AdamWOptions options(text.take("lr", 1e-3));
  const double beta1 = text.take("beta1", std::get<0>(options.betas()));
  options.betas({beta1, text.take("beta2", std::get<1>(options.betas()))});
  options.eps(text.take("eps", options.eps()));
  options.weight_decay(text.take("weight_decay", options.weight_decay()));
  options.amsgrad(text.take("amsgrad", options.amsgrad()) != 0);
  return std::make_unique<torch::optim::AdamW>(std::move(parameters), options);
}

struct OptimizerRow {
  const char* name;
  std::unique_ptr<torch::optim::Optimizer> (*make)(Parameters parameters, OptimizerText& text);
};
constexpr OptimizerRow kOptimizers[] = {{"sgd", make_sgd}, {"adamw", make_adamw}};

class LibTorchStep final : public TrainingStep {
 public:
  LibTorchStep(Parameters parameters, const std::string& words) {
    if (parameters.empty()) throw PackageError("the package has no parameters that are trained");
    OptimizerText text(words);
    for (const OptimizerRow& row : kOptimizers)
      if (text.name() == row.name) optimizer_ = row.make(std::move(parameters), text);
    if (!optimizer_) text.refuse_name();
    text.finish();
  }

  void zero_grad() override { optimizer_->zero_grad(); }
  void step() override { optimizer_->step(); }
  void set_learning_rate(double rate) override {
    for (auto& group : optimizer_->param_groups()) group.options().set_lr(rate);
  }

 private:
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace

struct Trainer::Impl {
  const Package package;
  const std::unique_ptr<TrainingStep> step;
  std::mutex mutex;
};

Trainer::Trainer(Package package, const std::string& optimizer) {
  std::unique_ptr<TrainingStep> step;
  if (optimizer.empty())
    step = std::make_unique<PackagedStep>(package.impl_);
  else
    step = std::make_unique<LibTorchStep>(package.parameters(), optimizer);
  impl_.reset(new Impl{std::move(package), std::move(step), {}});
}
Trainer::~Trainer() = default;

double Trainer::step(const std::vector<at::Tensor>& arguments) {
  const std::lock_guard lock(impl_->mutex);
  const at::AutoGradMode with_gradients(true);
  impl_->step->zero_grad();
  const std::vector<at::Tensor> results = impl_->package(arguments);
  if (results.empty() || results[0].numel() != 1 || !results[0].requires_grad())
    throw PackageError("the first result is no number with a gradient");
  results[0].backward();
  impl_->step->step();
  return results[0].detach().to(at::kDouble).item<double>();
}

void Trainer::set_learning_rate(double rate) {
  const std::lock_guard lock(impl_->mutex);
  impl_->step->set_learning_rate(rate);
}

const Package& Trainer::package() const { return impl_->package; }

}  // namespace torchdyn
