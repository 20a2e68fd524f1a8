#include "aten_bridge/trace/operator_info.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/refusals.h"

namespace aten_bridge {

const OperatorInfo& OperatorTable::of(const c10::OperatorHandle& op) {
  std::unique_ptr<OperatorInfo>& info = infos_[&op.schema()];
  if (info == nullptr) {
    info = std::make_unique<OperatorInfo>();
    info->name = name_of(op);
    info->refusal = refusal(info->name);
    info->rewrite = find_rewrite(info->name);
    info->lazy_bit = find_lazy_bit(info->name);
    info->decomposition = find_decomposition(info->name);
    info->shape = find_shape_source(op);
    info->reads = reads_values(info->name);
    info->is_composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    info->mutates = mutates(op.schema());
    info->is_custom = !info->name.starts_with("aten::");
    info->has_out = has_out(op.schema());
    info->is_view = returns_view(op.schema());
    info->draws = draws_random_numbers(op);
  }
  return *info;
}

}  // namespace aten_bridge
