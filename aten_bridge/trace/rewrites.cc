#include "aten_bridge/trace/rewrites.h"

#include <algorithm>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"

namespace aten_bridge {
namespace {

namespace functional = at::functionalization::impl;

void call_instead(std::string_view name, std::vector<c10::IValue> args, Stack& stack) {
  find_operator(name).callBoxed(&args);
  for (c10::IValue& result : args) stack.push_back(std::move(result));
}

// Training updates the running statistics, which native_batch_norm's schema calls read-only.
// (input, weight?, bias?, running_mean?, running_var?, training, momentum, eps)
bool native_batch_norm(const c10::OperatorHandle&, Stack& stack) {
  std::vector<c10::IValue> args = torch::jit::pop(stack, 8);
  const bool training = args[5].toBool();
  const auto given = [](const c10::IValue& v) { return v.isTensor() && v.toTensor().defined(); };
  if (training && given(args[3]) && given(args[4])) {
    call_instead("aten::_native_batch_norm_legit", std::move(args), stack);
    return true;
  }
  if (training && !given(args[3]) && !given(args[4])) {
    args.erase(args.begin() + 3, args.begin() + 5);
    call_instead("aten::_native_batch_norm_legit.no_stats", std::move(args), stack);
    return true;
  }
  for (c10::IValue& arg : args) stack.push_back(std::move(arg));
  return false;
}

// The same for cuDNN's: ATen's one operator for all of them chooses cuDNN again when it runs.
// (input, weight, bias?, running_mean?, running_var?, training, momentum, epsilon)
bool cudnn_batch_norm(const c10::OperatorHandle&, Stack& stack) {
  std::vector<c10::IValue> args = torch::jit::pop(stack, 8);
  const bool training = args[5].toBool();
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

// Whether this machine's kernel draws for a strided tensor in the order of its memory, or of its
// indices: that depends on the processor, so the kernel is asked.
bool bernoulli_draws_in_memory_order() {
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
  if (!self.is_cpu() || self.is_contiguous() || !bernoulli_draws_in_memory_order()) return false;
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

constexpr Rewrite kRewrites[] = {
    {"aten::bernoulli_.float", bernoulli_},
    {"aten::native_batch_norm", native_batch_norm},
    {"aten::cudnn_batch_norm", cudnn_batch_norm},
    {"aten::_fused_sdp_choice", fused_sdp_choice},
};

}  // namespace

const Rewrite* find_rewrite(std::string_view op) {
  for (const Rewrite& rewrite : kRewrites)
    if (rewrite.op == op) return &rewrite;
  return nullptr;
}

}  // namespace aten_bridge
