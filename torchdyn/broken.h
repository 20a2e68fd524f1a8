// What becomes of a fault of this library's own at a door.
//   variant->eager_reason = reason_of(error, options);     // "internal error, please report it:
//   ..."
#pragma once

#include <string>

#include "aten_bridge/base/check.h"
#include "torchdyn/compile.h"

namespace torchdyn {

// Writes a repro where there is a graph to replay, and says why the call runs in eager; under
// options.strict, that is an InternalFailure. `graph`: the text of what ran, where the error does
// not bring one (aten_bridge/base/broken.h).
std::string reason_of(const aten_bridge::InternalError& error, const Options& options,
                      const std::string& graph = "");

// InternalFailure where a compiler rejected a kernel of the graphs under options.strict.
void check_rejections(const Explanation::Variant& variant, const Options& options);

}  // namespace torchdyn
