#include "aten_bridge/trace/joint.h"

#include <utility>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/clone.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/recorder.h"
#include "aten_bridge/trace/results.h"
#include "aten_bridge/trace/substitution.h"

namespace aten_bridge {
namespace {

// What the backward starts from and what it is asked for.
struct Differentiation {
  Tensors outputs, tangents;      // wrappers
  Tensors inputs;                 // wrappers of the inputs that require grad
  std::vector<size_t> positions;  // of `inputs` among all inputs
};

Differentiation differentiation_of(const Tensors& results, const std::vector<bool>& differentiable,
                                   const Substitution& substitution, Recorder& recorder) {
  Differentiation d;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!differentiable[i]) continue;
    const at::Tensor tangent =
        recorder.add_input(str_cat("tangent", d.tangents.size()), type_of(fake_in(results[i])));
    d.outputs.push_back(results[i]);
    d.tangents.push_back(at::functionalization::impl::to_functional_tensor(tangent));
  }
  for (size_t i = 0; i < substitution.wrappers().size(); ++i) {
    if (!substitution.tensors()[i].requires_grad()) continue;
    d.inputs.push_back(substitution.wrappers()[i]);
    d.positions.push_back(i);
  }
  return d;
}

// The copy is recorded; `dense` asks for row-major strides where the tensor overlaps itself.
at::Tensor record_copy(const at::Tensor& fake) {
  const c10::impl::ExcludeDispatchKeyGuard to_recorder(keys_above_fake());
  return at::clone(fake);
}

bool overlaps_itself(const at::Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) > 1 && tensor.stride(d) == 0) return true;
  return false;
}

// One fake a primal: its gradient, dense as a gradient that a parameter takes, or undefined.
Tensors gradients(const Differentiation& d, size_t primals) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensors found =
      torch::autograd::grad(d.outputs, d.inputs, d.tangents, /*retain_graph=*/false,
                            /*create_graph=*/false, /*allow_unused=*/true);
  Tensors gradients(primals);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined()) continue;
    const at::Tensor fake = fake_in(found[i]);
    gradients[d.positions[i]] = overlaps_itself(fake) ? record_copy(fake) : fake;
  }
  return gradients;
}

// Eager would share memory where the graph has values of their own.
void refuse_lazy_views(const Readout& readout, const Recorder& recorder) {
  if (!recorder.met_lazy_views()) return;
  for (const ResultSource& source : readout.sources)
    if (source.kind == ResultSource::Kind::kViewOfInput ||
        source.kind == ResultSource::Kind::kViewOfGraph)
      throw CaptureError("a result may be a lazily conjugated or negated view");
}

// Graph results are tensors of their own: a value that shares memory with an input or with an
// earlier result, when views are run as views, is copied.
void separate(Tensors& results, size_t returned, const Recorder& recorder) {
  HashSet<Value> taken;
  for (size_t i = 0; i < results.size(); ++i) {
    const Value root = recorder.root(results[i]);
    const bool shared = root.node->is_input() || (i < returned && taken.contains(root));
    if (shared) results[i] = record_copy(results[i]);
    taken.insert(root);
  }
}

class RefuseBackward final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit RefuseBackward(std::string name) : name_(std::move(name)) {}
  void operator()(const at::Tensor&) override {
    throw CaptureError(str_cat("backward() inside the callable accumulates into '", name_,
                               "'; call it on the result, outside"));
  }

 private:
  std::string name_;
};

}  // namespace

void refuse_backward(const Substitution& substitution) {
  for (size_t i = 0; i < substitution.wrappers().size(); ++i)
    if (substitution.wrappers()[i].requires_grad())
      torch::autograd::impl::set_post_acc_grad_hooks(
          substitution.wrappers()[i], std::make_unique<RefuseBackward>(substitution.names()[i]));
}

Captured record_joint(const Tensors& results, const Substitution& substitution,
                      Recorder& recorder) {
  Readout readout = read_out(results, substitution);
  refuse_lazy_views(readout, recorder);
  Captured captured;
  for (size_t i = 0; i < readout.graph_results.size(); ++i)
    captured.differentiable.push_back(static_cast<int>(i) < readout.returned &&
                                      readout.graph_results[i].requires_grad());

  const size_t primals = substitution.wrappers().size();
  const Differentiation d =
      differentiation_of(readout.graph_results, captured.differentiable, substitution, recorder);
  Tensors outputs;
  for (const at::Tensor& result : readout.graph_results) outputs.push_back(fake_in(result));
  Tensors found;
  recorder.trust_indices();  // the backward's are those of the forward
  if (!d.outputs.empty()) found = gradients(d, primals);
  for (const Recorder::Read& read : recorder.reads()) {
    captured.assumptions.push_back({static_cast<int>(outputs.size()), read.number, read.raises});
    outputs.push_back(read.fake);
  }
  captured.draws = recorder.draws();
  captured.differentiable.resize(outputs.size());
  separate(outputs, readout.returned, recorder);
  const int count = static_cast<int>(outputs.size());
  for (at::Tensor& gradient : found) outputs.push_back(std::move(gradient));

  captured.joint = {std::move(recorder).finish(outputs), static_cast<int>(primals),
                    static_cast<int>(d.tangents.size()), count};
  const Tensors& inputs = substitution.tensors();
  captured.constants.assign(inputs.end() - static_cast<ptrdiff_t>(substitution.constants()),
                            inputs.end());
  captured.results = std::move(readout.sources);
  captured.mutations = std::move(readout.mutations);
  return captured;
}

}  // namespace aten_bridge
