#include "aten_bridge/autograd/compiled_function.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/graph/generalize.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/convert.h"
#include "aten_bridge/trace/generators.h"
#include "aten_bridge/trace/interpret.h"

namespace aten_bridge {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// A captured graph holds its casts and its gradients already: neither may be added a second time.
constexpr c10::DispatchKeySet kCaptured = c10::autocast_dispatch_keyset;
constexpr c10::DispatchKeySet kCompiled =
    kCaptured | c10::autograd_dispatch_keyset_with_ADInplaceOrView;

at::Tensor new_tensor_of(const TensorType& type) {
  std::vector<int64_t> sizes, strides;
  for (const SymExpr& size : type.sizes) sizes.push_back(size.as_constant());
  for (const SymExpr& stride : type.strides) strides.push_back(stride.as_constant());
  return at::empty_strided(
      sizes, strides,
      at::TensorOptions(to_scalar_type(type.dtype)).device(to_c10_device(type.device)));
}

// Strides of dimensions with one element, and all of an empty tensor's, say nothing.
bool is_of_type(const at::Tensor& t, const TensorType& type) {
  if (t.scalar_type() != to_scalar_type(type.dtype)) return false;
  TD_CHECK(t.dim() == static_cast<int64_t>(type.sizes.size()), "a gradient's rank changed");
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1 && t.stride(d) != type.strides[d].as_constant()) return t.numel() == 0;
  return true;
}

// The tangent that the backward graph was compiled for: defined, in its dtype and strides.
at::Tensor made_to_fit(at::Tensor tangent, const TensorType& type) {
  if (!tangent.defined()) return new_tensor_of(type).zero_();
  if (is_of_type(tangent, type)) return tangent;
  return new_tensor_of(type).copy_(tangent);
}

// A tensor without gradient is saved under a handle of its own, with the version counter that it
// has: a module's member that is given another tensor is noticed by the handles that are left.
at::Tensor to_save(const at::Tensor& primal) {
  return primal.requires_grad() ? primal : primal.detach();
}

class CompiledBackward final : public torch::autograd::Node {
 public:
  // `generators`: their states before forward, where it draws.
  CompiledBackward(std::shared_ptr<const CompiledFunction> fn, std::vector<at::Tensor> generators)
      : fn_(std::move(fn)), generators_(std::move(generators)) {}
  ~CompiledBackward() override {
    if (is_gone_) *is_gone_ = true;
  }

  // LibTorch's way takes a chain of nodes apart without recursion, and asks for memory to do so;
  // where there is none, nodes go one inside the other.
  static void destroy(torch::autograd::Node* node) noexcept {
    bool is_gone = false;
    static_cast<CompiledBackward*>(node)->is_gone_ = &is_gone;
    try {
      torch::autograd::deleteNode(node);
    } catch (...) {
      if (!is_gone) delete node;
    }
  }

  std::string name() const override { return "CompiledFunctionBackward"; }

  // After set_history: a saved result refers to this node.
  void save(const std::vector<at::Tensor>& primals, const std::vector<at::Tensor>& outputs) {
    saved_.reserve(fn_->saved.size());
    for (const SavedValue& value : fn_->saved) {
      if (value.primal >= 0)
        saved_.emplace_back(to_save(primals[value.primal]), /*is_output=*/false);
      else
        saved_.emplace_back(outputs[value.result], /*is_output=*/value.result < fn_->results);
    }
    if (!fn_->joint) return;
    const std::vector<bool> is_saved = saved_primals();
    for (int i = 0; i < fn_->primals; ++i)
      if (!is_saved[i]) other_primals_.emplace_back(to_save(primals[i]), /*is_output=*/false);
  }

  variable_list apply(variable_list&& tangents) override {
    const std::vector<bool> wanted = wanted_gradients(tangents);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end())
      return variable_list(fn_->primals);
    variable_list gradients =
        c10::GradMode::is_enabled() ? by_operators(tangents) : compiled(std::move(tangents));
    TD_CHECK(static_cast<int>(gradients.size()) == fn_->primals, "one gradient a primal, not ",
             gradients.size());
    for (int i = 0; i < fn_->primals; ++i)
      if (!wanted[i]) gradients[i].reset();
    return gradients;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (SavedVariable& value : saved_) value.reset_data();
    for (SavedVariable& value : other_primals_) value.reset_data();
  }

 private:
  // By the engine, and not without a tangent behind it.
  std::vector<bool> wanted_gradients(const variable_list& tangents) const {
    std::vector<bool> wanted(fn_->primals);
    for (int i = 0; i < fn_->primals; ++i) {
      const std::vector<int>& behind = fn_->tangents_of[i];
      wanted[i] =
          task_should_compute_output(i) &&
          std::any_of(behind.begin(), behind.end(), [&](int t) { return tangents[t].defined(); });
    }
    return wanted;
  }

  std::vector<bool> saved_primals() const {
    std::vector<bool> is_saved(fn_->primals);
    for (const SavedValue& value : fn_->saved)
      if (value.primal >= 0) is_saved[value.primal] = true;
    return is_saved;
  }

  std::vector<at::Tensor> unpack_primals() {
    const std::vector<at::Tensor> saved = unpack(saved_), others = unpack(other_primals_);
    std::vector<at::Tensor> primals(fn_->primals);
    for (size_t i = 0; i < saved.size(); ++i)
      if (fn_->saved[i].primal >= 0) primals[fn_->saved[i].primal] = saved[i];
    auto next = others.begin();
    for (at::Tensor& primal : primals)
      if (!primal.defined()) primal = *next++;
    return primals;
  }

  std::vector<at::Tensor> unpack(const std::vector<SavedVariable>& values) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<at::Tensor> tensors;
    tensors.reserve(values.size() + fn_->tangents.size());
    for (const SavedVariable& value : values) tensors.push_back(value.unpack(getptr()));
    return tensors;
  }

  bool has_unlikely(const variable_list& tangents) const {
    if (!fn_->backward_of_all) return false;
    for (size_t i = 0; i < tangents.size(); ++i)
      if (!fn_->given[i] && tangents[i].defined()) return true;
    return false;
  }

  variable_list compiled(variable_list&& tangents) {
    if (has_unlikely(tangents)) return compiled_for_all(tangents);
    std::vector<at::Tensor> inputs = unpack(saved_);
    if (!fn_->backward_runs) return compiled_or_not(std::move(inputs), tangents);
    // From here on the runner owns each saved value, and frees it at its last use.
    if (!torch::autograd::get_current_graph_task_keep_graph()) release_variables();
    return run_backward(std::move(inputs), std::move(tangents));
  }

  // The first time: what it needs to be run by operators is kept until it ran.
  variable_list compiled_or_not(std::vector<at::Tensor> inputs, const variable_list& tangents) {
    try {
      variable_list gradients = run_backward(std::move(inputs), tangents);
      fn_->backward_runs = true;
      return gradients;
    } catch (const InternalError& error) {
      if (!fn_->broken) throw;
      fn_->broken(error);
    }
    return by_operators(tangents);
  }

  variable_list run_backward(std::vector<at::Tensor> inputs, variable_list tangents) {
    const c10::impl::ExcludeDispatchKeyGuard below(kCompiled);
    for (size_t i = 0; i < tangents.size(); ++i)
      if (!fn_->backward_of_all || fn_->given[i])
        inputs.push_back(made_to_fit(std::move(tangents[i]), fn_->tangents[i]));
    return fn_->backward(std::move(inputs));
  }

  variable_list compiled_for_all(const variable_list& tangents) {
    try {
      if (const GraphRunner backward = fn_->backward_of_all()) {
        std::vector<at::Tensor> inputs = unpack(saved_);
        const c10::impl::ExcludeDispatchKeyGuard below(kCompiled);
        for (size_t i = 0; i < tangents.size(); ++i)
          inputs.push_back(made_to_fit(tangents[i], fn_->tangents[i]));
        return backward(std::move(inputs));
      }
    } catch (const InternalError& error) {
      if (!fn_->broken) throw;
      fn_->broken(error);
    }
    return by_operators(tangents);
  }

  // The joint graph once more, operator by operator; for create_graph, with autograd watching.
  variable_list by_operators(const variable_list& tangents) {
    TORCH_CHECK(fn_->joint,
                "backward with create_graph=True through a compiled function whose joint graph "
                "was not kept: run this function in eager");
    const Joint& joint = *fn_->joint;
    std::vector<at::Tensor> inputs = unpack_primals();
    const c10::impl::ExcludeDispatchKeyGuard below(kCaptured);
    for (size_t i = 0; i < tangents.size(); ++i)
      inputs.push_back(made_to_fit(tangents[i], fn_->tangents[i]));
    std::optional<GeneratorStates> now;
    if (fn_->draws) {
      now.emplace();
      GeneratorStates::set(generators_);
    }
    std::vector<at::Tensor> outputs =
        fn_->sizes.empty() ? interpret(joint.graph, std::move(inputs))
                           : interpret(substitute(joint.graph, fn_->sizes), std::move(inputs));
    return {std::make_move_iterator(outputs.begin() + joint.results),
            std::make_move_iterator(outputs.end())};
  }

  const std::shared_ptr<const CompiledFunction> fn_;
  const std::vector<at::Tensor> generators_;
  std::vector<SavedVariable> saved_;  // in backward's order
  std::vector<SavedVariable>
      other_primals_;        // for the joint graph: those that saved_ lacks, in order
  bool* is_gone_ = nullptr;  // told by the destructor
};

bool wants_gradient(const CompiledFunction& fn, const std::vector<at::Tensor>& primals) {
  return fn.backward && c10::GradMode::is_enabled() &&
         std::any_of(primals.begin(), primals.end(),
                     [](const at::Tensor& t) { return t.requires_grad(); });
}

std::vector<at::Tensor> run_forward(const CompiledFunction& fn, std::vector<at::Tensor> primals) {
  const c10::impl::ExcludeDispatchKeyGuard below(kCompiled);
  return fn.forward(std::move(primals));
}

// A runner may hand out one tensor twice, or an input; only a tensor of its own can have a history.
void make_own(at::Tensor& result) {
  if (result.use_count() == 1) return;
  const c10::impl::ExcludeDispatchKeyGuard below(kCompiled);
  result = result.detach();
}

// A saved value may be the memory behind a result (a product that is returned through a view). Both
// then count one version, so that backward notices when the result is changed in place.
void share_versions(const std::vector<at::Tensor>& outputs, int results) {
  for (size_t i = results; i < outputs.size(); ++i)
    for (int j = 0; j < results; ++j)
      if (outputs[i].defined() && outputs[j].defined() && outputs[i].is_alias_of(outputs[j]))
        torch::autograd::impl::set_version_counter(
            outputs[i], torch::autograd::impl::version_counter(outputs[j]));
}

}  // namespace

std::vector<at::Tensor> run(const std::shared_ptr<const CompiledFunction>& fn,
                            std::vector<at::Tensor> primals) {
  TD_CHECK(static_cast<int>(primals.size()) == fn->primals, "expected ", fn->primals,
           " primals, not ", primals.size());
  if (!wants_gradient(*fn, primals)) {
    std::vector<at::Tensor> outputs = run_forward(*fn, std::move(primals));
    outputs.resize(fn->results);
    return outputs;
  }

  std::vector<at::Tensor> generators;
  if (fn->draws && fn->joint) generators = GeneratorStates::get();
  std::vector<at::Tensor> outputs = run_forward(*fn, primals);
  const std::shared_ptr<CompiledBackward> node(new CompiledBackward(fn, std::move(generators)),
                                               CompiledBackward::destroy);
  node->set_next_edges(torch::autograd::collect_next_edges(primals));
  for (int i = 0; i < fn->results; ++i)
    if (fn->differentiable[i]) {
      make_own(outputs[i]);
      torch::autograd::set_history(outputs[i], node);
    }
  share_versions(outputs, fn->results);
  node->save(primals, outputs);
  outputs.resize(fn->results);
  return outputs;
}

}  // namespace aten_bridge
