// NVRTC, the CUDA compiler that comes with LibTorch as a library: CUDA C++ into a cubin, in the
// process and on any number of threads.
//   auto nvrtc = find_nvrtc();                              // its path; nothing is loaded for it
//   compile_cubin(*nvrtc, 90, {"k.cu", "k.cubin", "k.log"});
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/backend/device_backend.h"

namespace inductor {

// TORCHDYN_NVRTC; else what the process has loaded; else where LibTorch's wheel and archive keep
// it; else what the loader finds, which is then loaded. NotFound, naming what was tried, when there
// is none.
absl::StatusOr<std::string> find_nvrtc();
// The one that came with a libtorch_cpu.so; empty when none did.
std::string nvrtc_beside(const std::string& libtorch);

// Whatever could change a cubin besides source and target: the file and the flags.
std::string nvrtc_identity(const std::string& nvrtc);

// Compiles for a compute capability, 90 for sm_90; where this NVRTC knows only older devices of its
// kind, for the newest of those. InvalidArgument: it rejected the source, with its words in the
// log.
absl::Status compile_cubin(const std::string& nvrtc, int capability, const BuildFiles& files);
// PTX for that capability, which drivers compile for later ones.
absl::Status compile_ptx(const std::string& nvrtc, int capability, const BuildFiles& files);

}  // namespace inductor
