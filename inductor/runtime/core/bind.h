// A plan for sizes that are symbols, at given sizes.
//   KernelPlan plan = bind(symbolic, {{Symbol{'s', 0}, 64}});
#pragma once

#include "inductor/ir/rewrite.h"
#include "inductor/runtime/core/kernel_plan.h"

namespace inductor {

bool has_symbols(const KernelPlan& plan);
KernelPlan bind(const KernelPlan& plan, const SymbolMap& sizes);

}  // namespace inductor
