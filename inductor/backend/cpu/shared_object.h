// Kernels out of a shared object.
//   auto launchers = load_shared_object("k.so", {"softmax_7f3a91c2"});
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/runtime/core/launcher.h"

namespace inductor {

// One launcher a kernel, in order; the object stays loaded as long as one of them lives.
absl::StatusOr<std::vector<Launcher>> load_shared_object(const std::string& file,
                                                         std::span<const std::string> kernels);

// The same of a shared object's bytes, which are copied to memory: no file is made. It takes a file
// descriptor as long as it is loaded.
absl::StatusOr<std::vector<Launcher>> load_shared_object_bytes(
    std::string_view bytes, std::span<const std::string> kernels);

}  // namespace inductor
