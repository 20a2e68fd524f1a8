// What run.py hurts: compiles three functions and exits with 0 where all give eager's results.
// Prints how many of them are compiled.
#include <iostream>

#include <torch/torch.h>

#include "torchdyn/compile.h"

int main() {
  using torch::Tensor;
  torch::manual_seed(0);
  const Tensor x = torch::randn({16, 24}), w = torch::randn({24, 24}).requires_grad_();
  int compiled_count = 0;
  bool same = true;
  const auto check = [&](auto function) {
    auto compiled = torchdyn::compile(function);
    for (int call = 0; call < 2; ++call) {
      const Tensor want = function(x, w), got = compiled(x, w);
      const Tensor want_gradient = torch::autograd::grad({want.sum()}, {w})[0];
      const Tensor got_gradient = torch::autograd::grad({got.sum()}, {w})[0];
      same &= torch::allclose(got, want, 1e-4, 1e-5) &&
              torch::allclose(got_gradient, want_gradient, 1e-4, 1e-4);
    }
    const torchdyn::Explanation explanation = torchdyn::explain(compiled);
    compiled_count += explanation.kernel_launches() > 0;
    for (const auto& variant : explanation.variants)
      for (const auto& graph : variant.graphs) compiled_count -= !graph.rejected.empty();
  };
  check([](const Tensor& a, const Tensor& b) { return (a.mm(b).tanh() * 2).softmax(1); });
  check([](const Tensor& a, const Tensor& b) { return torch::layer_norm(a.mm(b), {24}).square(); });
  check([](const Tensor& a, const Tensor& b) { return a.mm(b.exp()).sigmoid().sum(0); });
  std::cout << compiled_count << " compiled\n";
  return same ? 0 : 1;
}
