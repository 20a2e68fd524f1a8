#include "inductor/backend/cpu/cpu_backend.h"
#include "inductor/backend/cuda/cuda_backend.h"
#include "inductor/backend/device_backend.h"

namespace inductor {
namespace {

struct Row {
  Device::Kind kind;
  absl::StatusOr<const DeviceBackend*> (*backend)(int index);
};

constexpr Row kBackends[] = {
    {Device::Kind::kCpu, cpu_backend},
    {Device::Kind::kCuda, cuda_backend},
};

}  // namespace

absl::StatusOr<const DeviceBackend*> backend_for(const Device& device) {
  for (const Row& row : kBackends)
    if (row.kind == device.kind) return row.backend(device.index);
  return absl::UnimplementedError("no backend for this kind of device");
}

}  // namespace inductor
