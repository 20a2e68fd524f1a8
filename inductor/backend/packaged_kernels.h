// Kernels out of a package's bytes, for the processor or GPU that is here.
//   auto launchers = load_packaged_kernels("x86-64-v3", /*device=*/0, bytes, {"softmax_7f3a91c2"});
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/runtime/core/launcher.h"

namespace inductor {

// `target` as DeviceBackend::target() says it: a level of processors, or "sm_90" and then a
// device's index. FailedPrecondition where this machine is none.
absl::StatusOr<std::vector<Launcher>> load_packaged_kernels(std::string_view target, int device,
                                                            std::string_view binary,
                                                            std::span<const std::string> kernels);

}  // namespace inductor
