// Indexing with masks, as other operators: where a mask holds is a matter of values.
// Rows of rewrites.h.
#pragma once

#include <span>

#include "aten_bridge/trace/rewrites.h"

namespace aten_bridge {

std::span<const Rewrite> mask_rewrites();

}  // namespace aten_bridge
