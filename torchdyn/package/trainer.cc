#include <map>
#include <mutex>
#include <sstream>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "absl/strings/numbers.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;
using Parameters = std::vector<at::Tensor>;
using Settings = std::map<std::string, double>;

// Takes a setting out, or gives the default.
double take(Settings& settings, const std::string& name, double otherwise) {
  const auto found = settings.find(name);
  if (found == settings.end()) return otherwise;
  const double value = found->second;
  settings.erase(found);
  return value;
}

std::unique_ptr<torch::optim::Optimizer> make_sgd(Parameters parameters, Settings& s) {
  torch::optim::SGDOptions options(take(s, "lr", 1e-3));
  options.momentum(take(s, "momentum", options.momentum()));
  options.dampening(take(s, "dampening", options.dampening()));
  options.weight_decay(take(s, "weight_decay", options.weight_decay()));
  options.nesterov(take(s, "nesterov", options.nesterov()) != 0);
  return std::make_unique<torch::optim::SGD>(std::move(parameters), options);
}

std::unique_ptr<torch::optim::Optimizer> make_adamw(Parameters parameters, Settings& s) {
  torch::optim::AdamWOptions options(take(s, "lr", 1e-3));
  const double beta1 = take(s, "beta1", std::get<0>(options.betas()));
  options.betas({beta1, take(s, "beta2", std::get<1>(options.betas()))});
  options.eps(take(s, "eps", options.eps()));
  options.weight_decay(take(s, "weight_decay", options.weight_decay()));
  options.amsgrad(take(s, "amsgrad", options.amsgrad()) != 0);
  return std::make_unique<torch::optim::AdamW>(std::move(parameters), options);
}

struct OptimizerRow {
  const char* name;
  std::unique_ptr<torch::optim::Optimizer> (*make)(Parameters parameters, Settings& settings);
};
constexpr OptimizerRow kOptimizers[] = {{"sgd", make_sgd}, {"adamw", make_adamw}};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& text,
                                                        Parameters parameters) {
  if (parameters.empty()) throw PackageError("the package has no parameters that are trained");
  std::istringstream words(text);
  std::string name, word;
  words >> name;
  Settings settings;
  while (words >> word) {
    const size_t equals = word.find('=');
    double value = 0;
    if (equals == word.npos || !absl::SimpleAtod(word.substr(equals + 1), &value))
      throw PackageError(str_cat("optimizer '", text, "': ", word, " is no setting"));
    settings[word.substr(0, equals)] = value;
  }
  for (const OptimizerRow& row : kOptimizers) {
    if (name != row.name) continue;
    auto optimizer = row.make(std::move(parameters), settings);
    if (settings.empty()) return optimizer;
    throw PackageError(
        str_cat("optimizer '", text, "': ", name, " has no setting ", settings.begin()->first));
  }
  throw PackageError(str_cat("optimizer '", text, "': known are sgd and adamw"));
}

}  // namespace

struct Trainer::Impl {
  const Package package;
  const std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::mutex mutex;
};

Trainer::Trainer(Package package, const std::string& optimizer) {
  auto made = make_optimizer(optimizer, package.parameters());
  impl_.reset(new Impl{std::move(package), std::move(made), {}});
}
Trainer::~Trainer() = default;

double Trainer::step(const std::vector<at::Tensor>& arguments) {
  const std::lock_guard lock(impl_->mutex);
  const at::AutoGradMode with_gradients(true);
  impl_->optimizer->zero_grad();
  const std::vector<at::Tensor> results = impl_->package(arguments);
  if (results.empty() || results[0].numel() != 1 || !results[0].requires_grad())
    throw PackageError("the first result is no number with a gradient");
  results[0].backward();
  impl_->optimizer->step();
  return results[0].detach().to(at::kDouble).item<double>();
}

void Trainer::set_learning_rate(double rate) {
  const std::lock_guard lock(impl_->mutex);
  for (auto& group : impl_->optimizer->param_groups()) group.options().set_lr(rate);
}

const Package& Trainer::package() const { return impl_->package; }

}  // namespace torchdyn
