// A device: how kernels are spelled, built and loaded. One folder and one row in table.cc each.
//   const DeviceBackend* backend = *backend_for(device);
//   Source unit = backend->assemble(kernels);
//   backend->build({"k.cc", "k.so", "k.log"});           // k.cc holds unit.text
//   auto launchers = backend->load("k.so", unit.kernels);
//
// What the devices have in common (cache, translation units, plans, the run loop) is not here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/emit/emit.h"
#include "inductor/runtime/core/launcher.h"
#include "inductor/schedule/schedule.h"

namespace inductor {

struct Source {  // one translation unit
  std::string text;
  std::vector<std::string> kernels;  // the functions in it
};

struct BuildFiles {
  std::string source;  // exists
  std::string binary;  // is made
  std::string log;     // gets the compiler's words
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual Features features() const = 0;
  virtual EmittedKernel emit(const LoopProgram& program, const Kernel& kernel) const = 0;
  virtual std::string preamble() const = 0;  // stands before the kernels in every translation unit
  // Everything besides the source that could change the binary: compiler, flags, target. Cheap:
  // runs no compiler.
  virtual absl::StatusOr<std::string> identity() const = 0;
  virtual std::string_view source_suffix() const = 0;  // ".cc", ".cu"
  virtual std::string_view binary_suffix() const = 0;  // ".so", ".cubin"
  // How many builds gain something by running side by side.
  virtual int most_at_once() const = 0;
  // InvalidArgument: the compiler rejected the source. The status says what went wrong, not where:
  // the caller knows the log's final name.
  virtual absl::Status build(const BuildFiles& files) const = 0;
  // As build(), for any machine that a target says: for a package. A CPU's are levels of
  // processors, "x86-64-v3"; a GPU's are nvcc's, "sm_90" and "compute_90". InvalidArgument: no
  // target of this device, too.
  virtual absl::Status build_for_target(const BuildFiles& files, const std::string&) const {
    return build(files);
  }
  virtual std::string target() const { return "native"; }  // for machines like this one
  // Loads a built file, trailing bytes that are not its own ignored; one launcher a kernel, in the
  // order of `kernels`. The file stays loaded as long as they live, and may be removed from the
  // disk.
  virtual absl::StatusOr<std::vector<Launcher>> load(
      const std::string& file, std::span<const std::string> kernels) const = 0;

  // One translation unit: the preamble and the kernels.
  Source assemble(std::span<const EmittedKernel* const> kernels) const;
};

// The backend for a device; equal devices share one. It lives as long as the process. Where there
// is none, or the device cannot serve, the status says why.
absl::StatusOr<const DeviceBackend*> backend_for(const Device& device);

}  // namespace inductor
