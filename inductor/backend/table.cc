#include "inductor/backend/cpu/cpu_backend.h"
#include "inductor/backend/device_backend.h"

namespace inductor {
namespace {

struct Row {
  Device::Kind kind;
  const DeviceBackend& (*backend)();
};

constexpr Row kBackends[] = {
    {Device::Kind::kCpu, cpu_backend},
};

}  // namespace

const DeviceBackend* backend_for(Device::Kind kind) {
  for (const Row& row : kBackends)
    if (row.kind == kind) return &row.backend();
  return nullptr;
}

}  // namespace inductor
