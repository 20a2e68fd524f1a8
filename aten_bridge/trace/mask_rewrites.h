// Indexing with masks, as other operators: where a mask holds is a matter of values.
//   if (const Rewrite* rewrite = find_mask_rewrite("aten::index.Tensor")) ...
#pragma once

#include <string_view>

#include "aten_bridge/trace/rewrites.h"

namespace aten_bridge {

const Rewrite* find_mask_rewrite(std::string_view op);

}  // namespace aten_bridge
