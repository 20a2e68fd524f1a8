// Operators whose result on the host, or whose results' sizes, depend on values. Capture reads the
// values, and every run checks that they are the same (Captured::assumptions).
#pragma once

#include <string_view>

namespace aten_bridge {

enum class ReadsValues : unsigned char { kNo, kNumber, kSizes };

ReadsValues reads_values(std::string_view op);

}  // namespace aten_bridge
