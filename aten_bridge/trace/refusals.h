// Why capture refuses what it refuses.
//   if (auto reason = refusal("aten::_local_scalar_dense")) throw CaptureError(...);
//   throw CaptureError(undeclared("aten::add.Tensor"));
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aten_bridge {

// A row's reason: the end of a sentence that begins with the operator's name. None: not refused.
std::optional<std::string_view> refusal(std::string_view op);

// `who` met a tensor that capture does not know.
std::string undeclared(std::string_view who);

}  // namespace aten_bridge
