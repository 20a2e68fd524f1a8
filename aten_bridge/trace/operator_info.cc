#include "aten_bridge/trace/operator_info.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "aten_bridge/trace/boxed.h"
#include "aten_bridge/trace/refusals.h"

namespace aten_bridge {

const OperatorInfo& OperatorTable::of(const c10::OperatorHandle& op) {
  std::unique_ptr<OperatorInfo>& info = infos_[&op.schema()];
  if (info == nullptr) {
    auto made = std::make_unique<OperatorInfo>();
    made->name = name_of(op);
    made->refusal = refusal(made->name);
    made->rewrite = find_rewrite(made->name);
    made->lazy_bit = find_lazy_bit(made->name);
    made->decomposition = find_decomposition(made->name);
    made->shape = find_shape_source(op);
    made->reads = reads_values(made->name);
    made->is_composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    made->mutates = mutates(op.schema());
    made->is_custom = !made->name.starts_with("aten::");
    made->has_out = has_out(op.schema());
    made->is_view = returns_view(op.schema());
    made->draws = draws_random_numbers(op);
    info = std::move(made);
  }
  return *info;
}

}  // namespace aten_bridge
