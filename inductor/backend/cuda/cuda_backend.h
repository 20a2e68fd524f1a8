// NVIDIA's GPUs: CUDA C++ text, built by NVRTC into a cubin, loaded by the driver.
#pragma once

#include <cstdint>
#include <optional>

#include "inductor/backend/device_backend.h"

namespace inductor {

Features cuda_features();

// Devices of one compute capability share a backend. TORCHDYN_CUDA_ARCH=sm_90 stands for a device
// where there is none: then all but load() works.
absl::StatusOr<const DeviceBackend*> cuda_backend(int index);

// How many threads of LibTorch's kernels, whose blocks have 256, a device runs at once; none where
// there is no device to ask.
std::optional<int64_t> cuda_threads(int index);

}  // namespace inductor
