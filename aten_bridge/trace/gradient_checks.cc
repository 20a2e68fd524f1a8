#include "aten_bridge/trace/gradient_checks.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_assert_async.h>
#include <torch/csrc/autograd/function.h>

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {
namespace {

constexpr GradientCheck kChecks[] = {
    {"LinalgSvdBackward0", "svd_backward", "singular vectors"},
    {"LinalgEigBackward0", "linalg_eig_backward", "eigenvectors"},
    {"LinalgEighBackward0", "linalg_eigh_backward", "eigenvectors"},
};

}  // namespace

const GradientCheck* running_gradient_check() {
  const auto node = torch::autograd::get_current_node();
  if (node == nullptr) return nullptr;
  for (const GradientCheck& check : kChecks)
    if (check.node == node->name()) return &check;
  return nullptr;
}

// A failed assertion on a GPU would end the use of that GPU; one on the host is an exception.
void record_check(const GradientCheck& check, const at::Tensor& holds) {
  at::_assert_async(holds.cpu(),
                    str_cat(check.who, ": The ", check.what,
                            " in the complex case are specified up to multiplication by e^{i phi}. "
                            "The specified loss function depends on this phase term, making it "
                            "ill-defined."));
}

}  // namespace aten_bridge
