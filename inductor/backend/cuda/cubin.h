// Kernels out of a cubin.
//   auto launchers = load_cubin(driver, "k.cubin", {"softmax_7f3a91c2"});
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/backend/cuda/driver.h"
#include "inductor/runtime/core/launcher.h"

namespace inductor {

// One launcher a kernel, in order, for every device that can run the code; the cubin stays loaded
// as long as one of them lives. A launch that the driver refuses throws std::runtime_error with the
// kernel's name and the driver's words. `driver` outlives the launchers.
absl::StatusOr<std::vector<Launcher>> load_cubin(const CudaDriver& driver, const std::string& file,
                                                 std::span<const std::string> kernels);

// The same of a cubin's bytes; `from` names it in messages.
absl::StatusOr<std::vector<Launcher>> load_cubin_bytes(const CudaDriver& driver,
                                                       const std::string& image,
                                                       const std::string& from,
                                                       std::span<const std::string> kernels);

}  // namespace inductor
