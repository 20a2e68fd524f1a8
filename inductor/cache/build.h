// Builds kernels that no cache has: in few translation units side by side, published in a directory
// and loaded.
//   BuiltKernels built = build_kernels(backend, {{&kernel, key}}, directory);   // one result a
//   kernel
//
// Law
//  - A kernel that the compiler rejects does not take others with it: its unit is built again in
//    halves until it is alone.
//  - Nothing is blamed on a kernel by a compiler that does not even build the preamble.
//  - Where the directory cannot be written, a unit is built in a private one; that is said once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "inductor/backend/device_backend.h"
#include "inductor/cache/cache_directory.h"

namespace inductor {

struct KernelToBuild {
  const EmittedKernel* kernel = nullptr;
  std::string key;
};

struct BuiltKernel {
  absl::StatusOr<Launcher> launcher;  // InvalidArgument: the compiler rejects this very kernel
  std::string log;                    // the compiler's words, where it failed
};

struct BuiltKernels {
  std::vector<BuiltKernel> kernels;
  int units = 0;  // that were built
};

BuiltKernels build_kernels(const DeviceBackend& backend, std::span<const KernelToBuild> kernels,
                           const CacheDirectory& directory);

}  // namespace inductor
