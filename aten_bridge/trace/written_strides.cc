#include "aten_bridge/trace/written_strides.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/copy.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten_bridge/trace/boxed.h"

namespace aten_bridge {

namespace functional = at::functionalization::impl;

WrittenStrides::WrittenStrides(const c10::OperatorHandle& op, std::span<const c10::IValue> args) {
  if (op.hasTag(at::Tag::inplace_view)) return;  // it is meant to change them
  const auto& specs = op.schema().arguments();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].alias_info() == nullptr || !specs[i].alias_info()->isWrite()) continue;
    for_each_tensor(args.subspan(i, 1), [&](const at::Tensor& tensor) {
      if (!functional::isFunctionalTensor(tensor) || tensor.layout() != at::kStrided) return;
      functional::sync(tensor);
      written_.push_back({tensor, functional::from_functional_tensor(tensor)});
    });
  }
}

void WrittenStrides::keep() const {
  for (const auto& [wrapper, before] : written_) {
    if (wrapper.sizes() != before.sizes() || wrapper.strides() == before.strides()) continue;
    functional::sync(wrapper);
    const at::Tensor after = functional::from_functional_tensor(wrapper);
    const at::Tensor laid_out = [&, &before = before] {
      const c10::impl::ExcludeDispatchKeyGuard to_fake(keys_above_fake());
      return at::copy(before, after);
    }();
    functional::replace_(wrapper, laid_out);
    functional::commit_update(wrapper);
    functional::sync(wrapper);
  }
}

}  // namespace aten_bridge
