#include "aten_bridge/trace/rewrites.h"

#include <algorithm>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isclose.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/attention_masks.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/gradient_checks.h"
#include "aten_bridge/trace/mask_rewrites.h"

namespace aten_bridge {
namespace {

namespace functional = at::functionalization::impl;

void call_instead(std::string_view name, std::vector<c10::IValue> args, Stack& stack) {
  find_operator(name).callBoxed(&args);
  for (c10::IValue& result : args) stack.push_back(std::move(result));
}

bool is_given(const c10::IValue& v) { return v.isTensor() && v.toTensor().defined(); }

// Training updates the running statistics, which native_batch_norm's schema calls read-only.
// (input, weight?, bias?, running_mean?, running_var?, training, momentum, eps)
bool native_batch_norm(const c10::OperatorHandle&, Stack& stack) {
  std::vector<c10::IValue> args = torch::jit::pop(stack, 8);
  const bool training = args[5].toBool();
  if (training && is_given(args[3]) && is_given(args[4])) {
    call_instead("aten::_native_batch_norm_legit", std::move(args), stack);
    return true;
  }
  if (training && !is_given(args[3]) && !is_given(args[4])) {
    args.erase(args.begin() + 3, args.begin() + 5);
    call_instead("aten::_native_batch_norm_legit.no_stats", std::move(args), stack);
    return true;
  }
  for (c10::IValue& arg : args) stack.push_back(std::move(arg));
  return false;
}

// The same for cuDNN's: ATen's one operator for all of them chooses cuDNN again when it runs. It
// wants running statistics; without them there is another one, which has no workspace to return.
// (input, weight, bias?, running_mean?, running_var?, training, momentum, epsilon)
bool cudnn_batch_norm(const c10::OperatorHandle&, Stack& stack) {
  std::vector<c10::IValue> args = torch::jit::pop(stack, 8);
  const bool training = args[5].toBool();
  if (training && !is_given(args[3]) && !is_given(args[4])) {
    const at::Tensor workspace = at::empty({0}, args[0].toTensor().options().dtype(at::kByte));
    args.erase(args.begin() + 3, args.begin() + 5);
    call_instead("aten::_native_batch_norm_legit.no_stats", std::move(args), stack);
    stack.emplace_back(workspace);
    return true;
  }
  args.erase(args.begin() + 5);
  call_instead(training ? "aten::_batch_norm_with_update" : "aten::_batch_norm_no_update",
               std::move(args), stack);
  return true;
}

// Which attention kernel eager would take: the device's own kernel decides from metadata. Fakes
// below the wrappers do not require grad; copies of them that do ask in the wrappers' place.
bool fused_sdp_choice(const c10::OperatorHandle& op, Stack& stack) {
  const auto ask_as = [](const at::Tensor& wrapper) -> at::Tensor {
    if (!functional::isFunctionalTensor(wrapper)) return wrapper;
    functional::sync(wrapper);
    const at::Tensor fake = functional::from_functional_tensor(wrapper);
    at::Tensor copy = make_fake(meta_twin(fake), fake.device(), value_of(fake));
    if (wrapper.requires_grad()) copy.unsafeGetTensorImpl()->set_requires_grad(true);
    return copy;
  };
  map_tensors(std::span(stack).last(op.schema().arguments().size()), ask_as);
  const c10::impl::ExcludeDispatchKeyGuard to_kernel(keys_down_to_fake());
  op.callBoxed(&stack);
  return true;
}

// Whether a device's kernel draws for a strided tensor in the order of its memory, or of its
// indices: a GPU's does; a CPU's depends on the processor, so it is asked.
bool bernoulli_draws_in_memory_order(const at::Device& device) {
  if (!device.is_cpu()) return true;
  static const bool answer = [] {
    const c10::impl::ExcludeDispatchKeyGuard to_kernel(keys_down_to_fake());
    const at::Tensor strided = at::empty({32, 32}).t(), plain = at::empty({32, 32});
    strided.bernoulli_(0.5, at::detail::createCPUGenerator(1));
    plain.bernoulli_(0.5, at::detail::createCPUGenerator(1));
    return strided.t().equal(plain);
  }();
  return answer;
}

// Functionalization draws into a contiguous tensor instead: hand it the view that lies so in
// memory. (self, p, generator?)
bool bernoulli_(const c10::OperatorHandle& op, Stack& stack) {
  const at::Tensor self = torch::jit::peek(stack, 0, 3).toTensor();
  if (self.is_contiguous() || !bernoulli_draws_in_memory_order(self.device())) return false;
  std::vector<int64_t> order(self.dim());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  if (std::is_sorted(order.begin(), order.end())) return false;
  std::vector<c10::IValue> args = torch::jit::pop(stack, 3);
  args[0] = self.permute(order);
  op.callBoxed(&args);
  stack.emplace_back(self);
  return true;
}

// Functionalization takes an empty list, such as the largest squares of an Adam without them, for
// one of real tensors. The functional operator gives each mutable list's new tensors in order.
bool fused_step(const c10::OperatorHandle& op, Stack& stack) {
  const auto& arguments = op.schema().arguments();
  std::vector<c10::IValue> args = torch::jit::pop(stack, arguments.size()), before = args;
  std::string name = name_of(op);
  name.erase(name.find('_', name.rfind("_fused_") + 7), 1);
  find_operator(name).callBoxed(&args);
  const bool scaled = before[arguments.size() - 2].isTensor();
  for (size_t i = 0, result = 0; i < arguments.size(); ++i) {
    if (!arguments[i].alias_info() || !arguments[i].alias_info()->isWrite()) continue;
    const auto now = args[result++].toTensorVector(), old = before[i].toTensorVector();
    if (arguments[i].name() == "grads" && !scaled) continue;
    for (size_t k = 0; k < now.size(); ++k) old[k].copy_(now[k]);
  }
  return true;
}

// Questions that end on the host, as a number that is read. (self, other)
bool equal(const c10::OperatorHandle&, Stack& stack) {
  const at::Tensor other = torch::jit::pop(stack).toTensor();
  const at::Tensor self = torch::jit::pop(stack).toTensor();
  TORCH_CHECK(self.dtype() == other.dtype() && self.device() == other.device(),
              "equal: tensors of ", self.dtype(), " on ", self.device(), " and of ", other.dtype(),
              " on ", other.device());
  stack.emplace_back(self.sizes() == other.sizes() && self.eq(other).all().item<bool>());
  return true;
}

// (self, other, rtol, atol, equal_nan)
bool allclose(const c10::OperatorHandle&, Stack& stack) {
  const std::vector<c10::IValue> args = torch::jit::pop(stack, 5);
  const at::Tensor close = at::isclose(args[0].toTensor(), args[1].toTensor(), args[2].toDouble(),
                                       args[3].toDouble(), args[4].toBool());
  if (const GradientCheck* check = running_gradient_check()) {
    record_check(*check, close.all());
    stack.emplace_back(true);
  } else {
    stack.emplace_back(close.all().item<bool>());
  }
  return true;
}

// The call goes on below our key, as one without a row does.
void redispatch_below_ours(const c10::OperatorHandle& op, Stack& args) {
  const c10::impl::ExcludeDispatchKeyGuard guard{
      c10::DispatchKeySet(c10::DispatchKey::DeferredInit)};
  op.callBoxed(&args);
}

// Functionalization takes any size for a new one, laid out by rows. (self, size, *, memory_format?)
bool resize_(const c10::OperatorHandle& op, Stack& stack) {
  const at::Tensor self = torch::jit::peek(stack, 0, 3).toTensor();
  const std::vector<int64_t> sizes = torch::jit::peek(stack, 1, 3).toIntVector();
  const c10::IValue format = torch::jit::pop(stack);
  torch::jit::drop(stack, 2);
  if (self.sizes() != c10::IntArrayRef(sizes)) {
    Stack plain{self, sizes, c10::IValue()};
    redispatch_below_ours(op, plain);
  }
  if (!format.isNone()) {
    const at::Tensor laid_out =
        at::empty(sizes, at::TensorOptions(at::kMeta).memory_format(format.toMemoryFormat()));
    self.as_strided_(sizes, laid_out.strides());
  }
  stack.emplace_back(self);
  return true;
}

// (self, the_template, *, memory_format?)
bool resize_as_(const c10::OperatorHandle&, Stack& stack) {
  std::vector<c10::IValue> args = torch::jit::pop(stack, 3);
  const at::Tensor like = args[1].toTensor();
  args[1] = like.sizes();
  if (!args[2].isNone() && args[2].toMemoryFormat() == at::MemoryFormat::Preserve)
    args[2] = like.suggest_memory_format();
  call_instead("aten::resize_", std::move(args), stack);
  return true;
}

// Whether cuDNN runs an LSTM or its kin: it would look at where the weights lie in memory, and keep
// a workspace of a size that only it knows. The cells are compiled instead. (self)
bool cudnn_is_acceptable(const c10::OperatorHandle&, Stack& stack) {
  torch::jit::drop(stack, 1);
  stack.emplace_back(false);
  return true;
}

// Where cuDNN would draw what is dropped between layers, from a generator of its own: (input, hx,
// params, has_biases, num_layers, dropout, train, ...)
bool layers_of_cells(const c10::OperatorHandle& op, Stack& stack) {
  const auto args = std::span(stack).last(op.schema().arguments().size());
  const bool drops = args[6].toBool() && args[5].toDouble() > 0 && args[4].toInt() > 1;
  if (drops && args[0].toTensor().is_cuda())
    throw CaptureError(str_cat(name_of(op), " drops out between layers, which cuDNN draws"));
  return false;
}

// LibTorch takes the places from memory, without an operator: they are numbers that the program
// reads. (self, tensor_indices_or_sections, dim)
bool tensor_split(const c10::OperatorHandle&, Stack& stack) {
  const at::Tensor places = torch::jit::peek(stack, 1, 3).toTensor();
  if (!places.is_cpu() || places.scalar_type() != at::kLong || places.dim() > 1) return false;
  std::vector<c10::IValue> args = torch::jit::pop(stack, 3);
  if (places.dim() == 0) {
    args[1] = places.item<int64_t>();
    call_instead("aten::tensor_split.sections", std::move(args), stack);
    return true;
  }
  std::vector<int64_t> indices;
  for (const at::Tensor& place : places.unbind()) indices.push_back(place.item<int64_t>());
  args[1] = indices;
  call_instead("aten::tensor_split.indices", std::move(args), stack);
  return true;
}

// LibTorch reads the least and the largest class on the host to see that they are in range, which a
// scatter's index has to be as well. (self, num_classes)
bool one_hot(const c10::OperatorHandle&, Stack& stack) {
  const at::Tensor self = torch::jit::peek(stack, 0, 2).toTensor();
  const int64_t classes = torch::jit::peek(stack, 1, 2).toInt();
  if (self.scalar_type() != at::kLong || classes <= 0) return false;
  torch::jit::drop(stack, 2);
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.push_back(classes);
  stack.emplace_back(at::zeros(sizes, self.options()).scatter(-1, self.unsqueeze(-1), 1));
  return true;
}

constexpr Rewrite kRewrites[] = {
    {"aten::_fused_adam_", fused_step},
    {"aten::_fused_adam_.tensor_lr", fused_step},
    {"aten::_fused_adamw_", fused_step},
    {"aten::_fused_adamw_.tensor_lr", fused_step},
    {"aten::_fused_sgd_", fused_step},
    {"aten::_fused_sgd_.tensor_lr", fused_step},
    {"aten::allclose", allclose},
    {"aten::equal", equal},
    {"aten::one_hot", one_hot},
    {"aten::cudnn_is_acceptable", cudnn_is_acceptable},
    {"aten::lstm.input", layers_of_cells},
    {"aten::gru.input", layers_of_cells},
    {"aten::rnn_tanh.input", layers_of_cells},
    {"aten::rnn_relu.input", layers_of_cells},
    {"aten::tensor_split.tensor_indices_or_sections", tensor_split},
    {"aten::resize_", resize_},
    {"aten::resize_as_", resize_as_},
    {"aten::bernoulli_.float", bernoulli_},
    {"aten::native_batch_norm", native_batch_norm},
    {"aten::cudnn_batch_norm", cudnn_batch_norm},
    {"aten::_fused_sdp_choice", fused_sdp_choice},
};

}  // namespace

const Rewrite* find_rewrite(std::string_view op) {
  for (const std::span<const Rewrite> rows :
       {std::span<const Rewrite>(kRewrites), mask_rewrites(), attention_masks()})
    for (const Rewrite& rewrite : rows)
      if (rewrite.op == op) return &rewrite;
  return nullptr;
}

}  // namespace aten_bridge
