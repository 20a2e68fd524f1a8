// The CPU: C++ text, built by the host compiler into a shared object, loaded by dlopen.
#pragma once

#include "inductor/backend/device_backend.h"

namespace inductor {

absl::StatusOr<const DeviceBackend*> cpu_backend(int index);

}  // namespace inductor
