// Kernels out of a shared object.
//   auto launchers = load_shared_object("k.so", {"softmax_7f3a91c2"});
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/runtime/core/launcher.h"

namespace inductor {

// One launcher a kernel, in order; the object stays loaded as long as one of them lives.
absl::StatusOr<std::vector<Launcher>> load_shared_object(const std::string& file,
                                                         std::span<const std::string> kernels);

}  // namespace inductor
