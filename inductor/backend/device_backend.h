// A device: how kernels are spelled, built and loaded. One folder and one row in table.cc each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inductor/emit/emit.h"
#include "inductor/runtime/core/launcher.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

struct Source {  // one translation unit
  std::string text;
  std::vector<std::string> kernels;  // the functions in it
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual Features features() const = 0;
  virtual EmittedKernel emit(const LoopProgram& program, const Kernel& kernel) const = 0;
  // One translation unit from kernels, preamble included.
  virtual Source assemble(std::span<const EmittedKernel* const> kernels) const = 0;
  // Everything besides the source that could change the binary: compiler identity, flags, target.
  virtual absl::StatusOr<std::string> identity() const = 0;
  virtual std::string binary_suffix() const = 0;  // ".so", ".cubin"
  // Compiles to the file `output`. The status names the log file that holds the compiler's words.
  virtual absl::Status build(const Source& source, const std::string& output) const = 0;
  // Loads a built file; one launcher a kernel, in the order of `kernels`. The file stays loaded as long as they live.
  virtual absl::StatusOr<std::vector<Launcher>> load(const std::string& file,
                                                     std::span<const std::string> kernels) const = 0;
};

// The backend for a device; null when there is none.
const DeviceBackend* backend_for(Device::Kind kind);

}  // namespace inductor
