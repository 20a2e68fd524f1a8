// The C++ compiler of this machine.
//   auto compiler = host_compiler();    // TORCHDYN_CXX, then CXX, then g++, c++, clang++ on PATH
//   compile_shared_object(*compiler, {"k.cc", "k.so", "k.log"});
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "inductor/backend/device_backend.h"

namespace inductor {

struct HostCompiler {
  std::vector<std::string> command;  // the program, and the words that came with it ("ccache g++")
  // Whatever could change its output: files (path, size, time, first bytes), flags, the processor.
  // No compiler ran for it.
  std::string identity;
};

// Kept for the process as long as the variables stay as they are. NotFound, naming what was tried,
// when there is none.
absl::StatusOr<HostCompiler> host_compiler();

// InvalidArgument when the compiler ended by itself with an error. `machine`: flags that say what
// the code is to run on.
absl::Status compile_shared_object(const HostCompiler& compiler, const BuildFiles& files,
                                   const std::vector<std::string>& machine = {"-march=native"},
                                   std::chrono::milliseconds timeout = std::chrono::minutes(5));

}  // namespace inductor
