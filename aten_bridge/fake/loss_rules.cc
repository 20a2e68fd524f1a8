// Losses without a C++ Meta kernel.
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "aten_bridge/fake/rule_parts.h"
#include "aten_bridge/fake/rules.h"

namespace aten_bridge {
namespace {

// One loss a row where a batch is not reduced.
TensorType loss(const at::Tensor& self, bool batch, int64_t reduction) {
  return dense(batch && reduction == at::Reduction::None ? Sizes{self.size(0)} : Sizes{}, self);
}

// Dense, with the sizes of argument 1: the gradient of `self`.
Types gradient(Arguments a) { return {dense(tensor(a, 1).sizes().vec(), tensor(a, 1))}; }

// (self, target, reduction)
Types soft_margin_loss(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  if (a[2].toInt() != at::Reduction::None) return {dense({}, self)};
  return {elementwise({self}, self.scalar_type())};
}

// (grad_output, self, target, reduction)
Types soft_margin_loss_backward(Arguments a) {
  return {elementwise({tensor(a, 2), tensor(a, 1)}, tensor(a, 1).scalar_type())};
}

// (self, target, p, margin, weight?, reduction)
Types multi_margin_loss(Arguments a) {
  const at::Tensor& self = tensor(a, 0);
  const Sizes each = self.dim() < 2 ? Sizes{1} : Sizes{self.size(0)};
  const bool reduced = a[5].toInt() != at::Reduction::None || tensor(a, 1).dim() == 0;
  return {dense(reduced ? Sizes{} : each, self)};
}

// (self, target, reduction): the loss, and which classes are targets
Types multilabel_margin_loss(Arguments a) {
  const at::Tensor &self = tensor(a, 0), &target = tensor(a, 1);
  return {loss(self, target.dim() > 1, a[2].toInt()), dense(target.sizes().vec(), self)};
}

constexpr ShapeRule kRules[] = {
    {"aten::mse_loss_backward", gradient},
    {"aten::smooth_l1_loss_backward", gradient},
    {"aten::soft_margin_loss", soft_margin_loss},
    {"aten::soft_margin_loss_backward", soft_margin_loss_backward},
    {"aten::multi_margin_loss", multi_margin_loss},
    {"aten::multi_margin_loss_backward", gradient},
    {"aten::multilabel_margin_loss_forward", multilabel_margin_loss},
    {"aten::multilabel_margin_loss_backward", gradient},
    {"aten::_ctc_loss_backward", gradient},
    {"aten::_ctc_loss_backward.Tensor", gradient},
};

}  // namespace

std::span<const ShapeRule> loss_rules() { return kRules; }

}  // namespace aten_bridge
