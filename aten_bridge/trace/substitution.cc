#include "aten_bridge/trace/substitution.h"

#include <chrono>
#include <thread>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/variable.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/functional_twin.h"
#include "aten_bridge/trace/refusals.h"
#include "aten_bridge/trace/written_strides.h"

namespace aten_bridge {

// A weak reference to a tensor that the program made, and who made it.
struct Substitution::Made {
  c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
  const OperatorInfo* by;
};

namespace {

// Of a stand-in: notices who asks for .grad, which no operator does.
class WatchedMeta final : public torch::autograd::AutogradMeta {
 public:
  explicit WatchedMeta(std::shared_ptr<bool> asked) : asked_(std::move(asked)) {}
  at::Tensor& mutable_grad() override {
    *asked_ = true;
    return AutogradMeta::mutable_grad();
  }
  const at::Tensor& grad() const override {
    *asked_ = true;
    return AutogradMeta::grad();
  }

 private:
  const std::shared_ptr<bool> asked_;
};

constexpr auto kPatience = std::chrono::milliseconds(200);

bool is_known(const at::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.key_set();
  return keys.has_any(
             c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::Fake})) ||
         tensor.is_meta() || tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

bool is_constant(const c10::IValue& value) {
  const at::Tensor& tensor = value.toTensor();
  return !is_known(tensor) && !tensor.requires_grad() && tensor.layout() == at::kStrided;
}

// Functionalization draws into a dense copy, and the kernel's order depends on the strides, which
// only dense tensors' copies keep.
void refuse_strided_draw(const OperatorInfo& info, const c10::IValue& self) {
  if (!info.draws || info.name == "aten::bernoulli_.float" || !self.isTensor()) return;
  if (!self.toTensor().is_non_overlapping_and_dense())
    throw CaptureError(str_cat(info.name, " draws in place into a tensor that is not dense"));
}

}  // namespace

Substitution::Substitution(const CaptureInputs& inputs, Recorder& recorder) : recorder_(recorder) {
  for (size_t i = 0; i < inputs.tensors.size(); ++i)
    add(inputs.tensors[i], inputs.names[i],
        inputs.types.empty() || !inputs.types[i] ? nullptr : &*inputs.types[i]);
}

void Substitution::add(const at::Tensor& real, std::string name, const TensorType* as) {
  const int input = static_cast<int>(tensors_.size());
  fakes_.push_back(as ? recorder_.add_input(name, *as) : recorder_.add_input(name, real));
  wrappers_.push_back(at::functionalization::impl::to_functional_tensor(fakes_.back()));
  forbid_data(wrappers_.back());
  asked_.push_back(std::make_shared<bool>(false));
  c10::TensorImpl* wrapper = wrappers_.back().unsafeGetTensorImpl();
  wrapper->set_autograd_meta(std::make_unique<WatchedMeta>(asked_.back()));
  wrapper->set_requires_grad(real.requires_grad());
  index_.emplace(real.unsafeGetTensorImpl(), input);
  index_.emplace(wrappers_.back().unsafeGetTensorImpl(), input);
  tensors_.push_back(real);
  names_.push_back(std::move(name));
}

std::optional<std::string> Substitution::asked_for_gradient() const {
  for (size_t i = 0; i < asked_.size(); ++i)
    if (*asked_[i]) return names_[i];
  return std::nullopt;
}

// A single number is written into the graph, where it is folded; more of them are an input that
// every run gets. The program may change its tensor in place: it has a copy.
at::Tensor Substitution::lift(const at::Tensor& constant) {
  if (constant.numel() == 1) {
    const at::Scalar number = [&] {
      const c10::impl::ExcludeDispatchKeyGuard to_kernel(keys_down_to_fake());
      const c10::impl::ExcludeDispatchKeyGuard no_stand_ins(
          c10::DispatchKeySet(c10::DispatchKey::DeferredInit));
      return constant.item();
    }();
    return at::full(constant.sizes(), number, constant.options());
  }
  add(constant, str_cat("constant", constants_++));
  return at::clone(wrappers_.back());
}

Substitution::~Substitution() = default;

int Substitution::find(const at::Tensor& tensor) const {
  const auto it = index_.find(tensor.unsafeGetTensorImpl());
  return it == index_.end() ? -1 : it->second;
}

at::Tensor Substitution::stand_in(const at::Tensor& tensor, const std::string& op) const {
  if (is_known(tensor)) return tensor;
  const int input = find(tensor);
  if (input >= 0) return wrappers_[input];
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].unsafeGetTensorImpl()->grad().is_same(tensor))
      throw CaptureError(str_cat(op, " met the .grad of '", names_[i],
                                 "'; zero_grad and an optimizer's step belong outside of the "
                                 "compiled callable for now"));
  throw CaptureError(undeclared(op));
}

void Substitution::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
  const OperatorInfo& info = operators_.of(op);
  const size_t arguments = op.schema().arguments().size();
  const size_t below = stack.size() - arguments;
  if (info.name == "aten::lift_fresh" && is_constant(stack.back())) {
    stack.back() = lift(stack.back().toTensor());
    return;
  }
  map_tensors(std::span(stack).last(arguments),
              [&](const at::Tensor& tensor) { return stand_in(tensor, info.name); });
  met_autocast_ |= keys.has_any(c10::autocast_dispatch_keyset);
  if (info.mutates) {
    refuse_update_of_parameter(op, info, stack);
    refuse_strided_draw(info, stack[below]);
  }
  if (info.name == "aten::zeros_like") refuse_state_of_optimizer(info, stack[below]);
  const WrittenStrides strides(op, std::span(stack).last(arguments));
  if (info.is_custom && info.mutates && !info.is_view) {
    call_functionally(op, stack);
  } else if (info.rewrite == nullptr || !info.rewrite->run(op, stack)) {
    constexpr auto kBelow =
        c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::DeferredInit);
    op.redispatchBoxed(keys & kBelow, &stack);
  }
  if (info.has_out) refuse_other_dtype(info, std::span(stack).subspan(below));
  strides.keep();
  for_each_tensor(std::span(stack).subspan(below), [&](const at::Tensor& tensor) {
    if (!at::functionalization::impl::isFunctionalTensor(tensor) || find(tensor) >= 0) return;
    forbid_data(tensor);
    made_.push_back({c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), &info});
  });
}

// Most kernels refuse an `out=` of another dtype; functionalization converts the result.
void Substitution::refuse_other_dtype(const OperatorInfo& info,
                                      std::span<const c10::IValue> results) const {
  for_each_tensor(results, [&](const at::Tensor& tensor) {
    if (!at::functionalization::impl::isFunctionalTensor(tensor)) return;
    if (recorder_.is_converted(at::functionalization::impl::from_functional_tensor(tensor)))
      throw CaptureError(
          str_cat(info.name, " writes to a tensor of another dtype than its result"));
  });
}

void Substitution::refuse_update_of_parameter(const c10::OperatorHandle& op,
                                              const OperatorInfo& info, const Stack& stack) const {
  if (c10::GradMode::is_enabled()) return;
  const auto& specs = op.schema().arguments();
  const auto args = std::span(stack).last(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].alias_info() == nullptr || !specs[i].alias_info()->isWrite()) continue;
    for_each_tensor(args.subspan(i, 1), [&](const at::Tensor& tensor) {
      const int input = find(tensor);
      if (input < 0 || !tensors_[input].requires_grad()) return;
      throw CaptureError(
          str_cat(info.name, " changes the parameter '", names_[input],
                  "' in place without grad mode, as an optimizer's step does; step outside of the "
                  "compiled callable for now"));
    });
  }
}

// An optimizer's first step keeps zeros like each parameter that has a gradient. A capture that
// failed later would have left fakes in its state.
void Substitution::refuse_state_of_optimizer(const OperatorInfo& info,
                                             const c10::IValue& self) const {
  if (c10::GradMode::is_enabled()) return;
  const int input = find(self.toTensor());
  if (input < 0) return;
  const at::Tensor& real = tensors_[input];
  if (!real.requires_grad() || !real.unsafeGetTensorImpl()->grad().defined()) return;
  throw CaptureError(str_cat(info.name, " makes a tensor like the parameter '", names_[input],
                             "' without grad mode, as an optimizer's first step does; step outside "
                             "of the compiled callable for now"));
}

std::optional<std::string> Substitution::leaked() const {
  // Autograd's device threads let their last task go a moment after grad() has returned.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (const Made& made : made_)
    while (made.tensor.use_count() > 0) {
      if (std::chrono::steady_clock::now() > deadline) return made.by->name;
      std::this_thread::yield();
    }
  return std::nullopt;
}

}  // namespace aten_bridge
