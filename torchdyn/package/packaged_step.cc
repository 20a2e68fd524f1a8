#include "torchdyn/package/packaged_step.h"

#include <ATen/core/grad_mode.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/trace/convert.h"
#include "torchdyn/package/format/stored_order.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

// New values of a piece are memory of their own before they are put back: they stay in a cache, and
// take little of it.
constexpr int64_t kPieceOnCpu = 1 << 18, kPieceOnGpu = 1 << 24;

const LoadedMethod& method_of(const Package::Impl& package) {
  if (!package.file->manifest().optimizer)
    throw PackageError("the package brings no optimizer; name one");
  return find(package, kStepMethod);
}

at::Tensor flatten(const at::Tensor& tensor, const std::vector<int64_t>& order) {
  return tensor.detach().permute(order).reshape(-1);
}

}  // namespace

PackagedStep::PackagedStep(std::shared_ptr<const Package::Impl> package)
    : package_(std::move(package)), method_(method_of(*package_)) {
  for (const auto& [name, tensor] : package_->weights) {
    if (!tensor.requires_grad()) continue;
    Parameter& p = parameters_.emplace_back();
    p.tensor = tensor;
    p.order = stored_order(aten_bridge::type_of(tensor));
    p.flat.push_back(flatten(tensor, p.order));
    for (const std::string& state : package_->file->manifest().optimizer->state)
      p.flat.push_back(flatten(package_->optimizer_state.at(str_cat(state, "/", name)), p.order));
  }
}

void PackagedStep::zero_grad() {
  for (Parameter& p : parameters_) p.tensor.mutable_grad().reset();
}

void PackagedStep::step() {
  const at::NoGradGuard no_grad;
  const at::Tensor number = package_->optimizer_state.at("step").add_(1);
  const at::Tensor rate = package_->optimizer_state.at("lr");
  for (const Parameter& p : parameters_)
    if (p.tensor.grad().defined())
      step_of(p, number.to(p.tensor.device()), rate.to(p.tensor.device()));
}

void PackagedStep::step_of(const Parameter& p, const at::Tensor& number,
                           const at::Tensor& rate) const {
  const at::Tensor gradient = flatten(p.tensor.grad(), p.order);
  const int64_t elements = gradient.numel();
  const int64_t piece = gradient.is_cpu() ? kPieceOnCpu : kPieceOnGpu;
  for (int64_t begin = 0; begin < elements;) {
    const int64_t left = elements - begin;
    const int64_t length = left <= piece + 1 ? left : piece;  // none of one element behind others
    std::vector<at::Tensor> arguments = {p.flat[0].narrow(0, begin, length),
                                         gradient.narrow(0, begin, length)};
    for (size_t state = 1; state < p.flat.size(); ++state)
      arguments.push_back(p.flat[state].narrow(0, begin, length));
    arguments.push_back(number);
    arguments.push_back(rate);
    call(method_, arguments);
    begin += length;
  }
}

void PackagedStep::set_learning_rate(double rate) {
  const at::NoGradGuard no_grad;
  package_->optimizer_state.at("lr").fill_(rate);
}

}  // namespace torchdyn
