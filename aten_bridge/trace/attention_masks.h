// Attention whose mask depends on nothing that a call may change: as the kernels name it, without
// mask or causal. Rows of rewrites.h.
#pragma once

#include <span>

#include "aten_bridge/trace/rewrites.h"

namespace aten_bridge {

std::span<const Rewrite> attention_masks();

}  // namespace aten_bridge
