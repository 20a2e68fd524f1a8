#include "inductor/backend/device_backend.h"

#include "aten_bridge/base/str_cat.h"

namespace inductor {

Source DeviceBackend::assemble(std::span<const EmittedKernel* const> kernels) const {
  Source source{preamble(), {}};
  for (const EmittedKernel* kernel : kernels) {
    aten_bridge::str_append(&source.text, "\n", kernel->text);
    source.kernels.push_back(kernel->name);
  }
  return source;
}

}  // namespace inductor
