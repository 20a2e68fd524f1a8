#include "aten_bridge/fake/meta_kernels.h"

#include <algorithm>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/base/str_cat.h"
#include "aten_bridge/fake/fake_tensor.h"
#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/capture.h"
#include "aten_bridge/trace/refusals.h"

namespace aten_bridge {
namespace {

// PyTorch itself does not use it.
constexpr auto kInside = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

bool asks_for_meta(std::span<const c10::IValue> args) {
  bool found = std::any_of(args.begin(), args.end(), [](const c10::IValue& arg) {
    return arg.isDevice() && arg.toDevice().is_meta();
  });
  for_each_tensor(args, [&](const at::Tensor& tensor) { found |= tensor.is_meta(); });
  return found;
}

// There are no data to write, and only operators that say so change the geometry of what is there.
// (A kernel that leaves its result's size to the out form gives a wrong one: it needs a rule.)
bool only_writes(const c10::OperatorHandle& op) {
  return mutates(op.schema()) && !op.hasTag(at::Tag::inplace_view);
}

void return_written(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const size_t count = schema.arguments().size(), first = stack.size() - count;
  size_t kept = 0;
  for (size_t i = 0; i < count && kept < schema.returns().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) std::swap(stack[first + kept++], stack[first + i]);
  }
  torch::jit::drop(stack, count - kept);
}

}  // namespace

bool has_registered_fake(const c10::OperatorHandle& op) {
  return !name_of(op).starts_with("aten::") && op.hasKernelForDispatchKey(c10::DispatchKey::Meta);
}

c10::DispatchKey meta_kernel_key(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  for (DispatchKey key :
       {DispatchKey::CompositeExplicitAutogradNonFunctional, DispatchKey::CompositeExplicitAutograd,
        DispatchKey::Meta, DispatchKey::CompositeImplicitAutograd})
    if (op.hasKernelForDispatchKey(key)) return key;
  return DispatchKey::Undefined;
}

std::vector<c10::IValue> call_meta_kernel(const c10::OperatorHandle& op, c10::DispatchKey key,
                                          std::span<const c10::IValue> args) {
  std::vector<c10::IValue> stack(args.begin(), args.end());
  map_tensors(
      stack, [](const at::Tensor& tensor) { return is_fake(tensor) ? meta_twin(tensor) : tensor; });
  const auto& specs = op.schema().arguments();
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool is_option = stack[i].isDevice() || stack[i].isBool() || stack[i].isNone();
    if (!is_option) continue;
    if (specs[i].name() == "pin_memory") stack[i] = c10::IValue();
    if (stack[i].isDevice() || specs[i].name() == "device") stack[i] = c10::Device(c10::kMeta);
  }
  const c10::impl::ExcludeDispatchKeyGuard only_meta(keys_down_to_fake());
  std::optional<c10::impl::IncludeDispatchKeyGuard> inside;
  if (!has_registered_fake(op)) inside.emplace(kInside);
  op.callBoxedForDispatchKey(key, stack);
  return stack;
}

void call_inside_meta_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                             std::vector<c10::IValue>* stack) {
  const auto& schema = op.schema();
  if (!asks_for_meta(std::span(*stack).last(schema.arguments().size()))) {
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kInside), stack);
  } else if (only_writes(op)) {
    return_written(schema, *stack);
  } else {
    const c10::DispatchKey key = meta_kernel_key(op);
    if (key == c10::DispatchKey::Undefined)
      throw CaptureError(
          str_cat(name_of(op), " ", refusal(name_of(op)).value_or("has no Meta kernel")));
    op.callBoxedForDispatchKey(key, *stack);
  }
}

}  // namespace aten_bridge
