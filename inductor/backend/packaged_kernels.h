// Kernels out of a package's bytes, for the processor or GPU that is here.
//   if (runs_on_this_machine("x86-64-v3", /*device=*/0).ok())
//     auto launchers = load_packaged_kernels("x86-64-v3", bytes, {"softmax_7f3a91c2"});
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/runtime/core/launcher.h"

namespace inductor {

// `target` as DeviceBackend::build_for_target takes it; a GPU's is of the device with that index.
// FailedPrecondition where this machine is none.
absl::Status runs_on_this_machine(std::string_view target, int device);

// Of a target that this machine is.
absl::StatusOr<std::vector<Launcher>> load_packaged_kernels(std::string_view target,
                                                            std::string_view binary,
                                                            std::span<const std::string> kernels);

}  // namespace inductor
