#include "torchdyn/package/optimizer_step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "torchdyn/package.h"

namespace torchdyn {
namespace {

using Tensors = std::vector<at::Tensor>;

// Lengths to trace at: any that agree on one program.
constexpr int64_t kFirstLength = 4099;
constexpr int kSamples = 20;

DynamicSizes any_length(size_t pieces) {
  DynamicSizes sizes;
  const SymExpr length = SymExpr::symbol({'s', 0});
  sizes.tensors.assign(pieces, DynamicSizes::Geometry{{length}, {1}});
  sizes.tensors.resize(pieces + 2);  // the step's number, the rate
  for (int row = 0; row < kSamples; ++row) sizes.samples.push_back({5 + 7 * row});
  return sizes;
}

// LibTorch's first step takes the gradient itself for the momentum, whatever the dampening.
OptimizerStep::Function sgd(OptimizerText& text, std::vector<std::string>& state) {
  const double momentum = text.take("momentum", 0), dampening = text.take("dampening", 0);
  const double weight_decay = text.take("weight_decay", 0);
  const bool nesterov = text.take("nesterov", 0) != 0;
  if (momentum != 0) state = {"momentum_buffer"};
  return [=](const Tensors& piece, const at::Tensor& number, const at::Tensor& rate) {
    const auto results = [&](bool is_first) {
      const auto [p, g, buffers] = at::_fused_sgd(
          {piece[0]}, {piece[1]}, at::ArrayRef<at::Tensor>(piece).slice(2), weight_decay, momentum,
          rate, dampening, nesterov, /*maximize=*/false, is_first);
      Tensors list = {p[0]};
      list.insert(list.end(), buffers.begin(), buffers.end());
      return list;
    };
    const Tensors later = results(false), first = dampening == 0 ? later : results(true);
    const at::Tensor is_first = number.eq(1);
    for (size_t i = 0; i < later.size(); ++i)
      piece[i == 0 ? 0 : i + 1].copy_(dampening == 0 ? later[i]
                                                     : at::where(is_first, first[i], later[i]));
  };
}

OptimizerStep::Function adamw(OptimizerText& text, std::vector<std::string>& state) {
  const double beta1 = text.take("beta1", 0.9), beta2 = text.take("beta2", 0.999);
  const double eps = text.take("eps", 1e-8), weight_decay = text.take("weight_decay", 1e-2);
  const bool amsgrad = text.take("amsgrad", 0) != 0;
  state = {"exp_avg", "exp_avg_sq"};
  if (amsgrad) state.emplace_back("max_exp_avg_sq");
  return [=](const Tensors& piece, const at::Tensor& number, const at::Tensor& rate) {
    const auto [p, g, means, squares, largest] = at::_fused_adamw(
        {piece[0]}, {piece[1]}, {piece[2]}, {piece[3]}, at::ArrayRef<at::Tensor>(piece).slice(4),
        {number}, rate, beta1, beta2, weight_decay, eps, amsgrad, /*maximize=*/false);
    piece[0].copy_(p[0]);
    piece[2].copy_(means[0]);
    piece[3].copy_(squares[0]);
    if (amsgrad) piece[4].copy_(largest[0]);
  };
}

struct Row {
  const char* name;
  OptimizerStep::Function (*make)(OptimizerText& text, std::vector<std::string>& state);
};
constexpr Row kRows[] = {{"sgd", sgd}, {"adamw", adamw}};

}  // namespace

OptimizerStep::OptimizerStep(const std::string& words) : text_(words) {
  OptimizerText text(words);
  rate_ = text.take("lr", 1e-3);
  for (const Row& row : kRows)
    if (text.name() == row.name) function_ = row.make(text, state_);
  if (!function_) text.refuse_name();
  text.finish();
}

std::vector<std::unique_ptr<CompiledCall>> OptimizerStep::compile(
    const std::vector<StepKind>& kinds) const {
  const at::NoGradGuard no_grad;
  const size_t pieces = 2 + state_.size();
  const auto trace = [this, pieces](const Tensors& fakes) {
    function_({fakes.begin(), fakes.begin() + static_cast<std::ptrdiff_t>(pieces)}, fakes[pieces],
              fakes[pieces + 1]);
    return Tensors();
  };
  const internal::TraceRef reference{
      [](void* self, const Tensors& fakes, const std::vector<int64_t>&) {
        return internal::Traced{(*static_cast<decltype(trace)*>(self))(fakes), {}, nullptr};
      },
      const_cast<void*>(static_cast<const void*>(&trace))};
  std::vector<CallToCompile> calls;
  for (auto [dtype, device] : kinds)
    for (const int64_t length : {kFirstLength, int64_t{1}}) {
      CallToCompile& call = calls.emplace_back();
      call.trace = reference;
      for (size_t i = 0; i < pieces; ++i)
        call.tensors.push_back(at::zeros({length}, at::TensorOptions(dtype).device(device)));
      call.tensors.push_back(at::zeros({}, at::TensorOptions(at::kFloat).device(device)));
      call.tensors.push_back(at::zeros({}, at::TensorOptions(at::kDouble).device(device)));
      if (length > 1) call.sizes = any_length(pieces);
    }
  auto compiled = compile_calls(calls);
  for (const auto& call : compiled)
    if (!call->eager_reason().empty())
      throw PackageError("the optimizer's step: " + call->eager_reason());
  return compiled;
}

}  // namespace torchdyn
