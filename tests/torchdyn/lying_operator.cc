#include "tests/torchdyn/lying_operator.h"

#include <torch/torch.h>

namespace torchdyn::testing {
namespace {

at::Tensor sum(const at::Tensor& x) { return x.to(at::kDouble) + 1; }
at::Tensor shape(const at::Tensor& x) { return at::empty_like(x); }

TORCH_LIBRARY(torchdyn_test, library) {
  library.def("lying_sum(Tensor x) -> Tensor");
  library.impl("lying_sum", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(sum));
  library.impl("lying_sum", c10::DispatchKey::Meta, TORCH_FN(shape));
}

}  // namespace

at::Tensor lying_sum(const at::Tensor& x) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow(kLyingOperator, "")
                             .typed<at::Tensor(const at::Tensor&)>();
  return op.call(x);
}

}  // namespace torchdyn::testing
