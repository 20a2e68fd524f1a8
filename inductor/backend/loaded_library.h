// Shared libraries that this process has loaded.
//   loaded_library([](std::string_view name) { return name.starts_with("libtorch_cpu.so"); })
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace inductor {

// The path of the first one whose file name is accepted; empty when there is none.
std::string loaded_library(const std::function<bool(std::string_view file_name)>& accept);

}  // namespace inductor
