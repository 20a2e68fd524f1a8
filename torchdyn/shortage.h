// What is short now and may be there later: memory, threads, processes, files, room on a disk. A
// call that meets it runs in eager, and nothing is decided for later calls.
//   if (is_shortage(status)) throw Shortage(std::string(status.message()));
//   catch (const std::exception& error) { if (is_shortage(error)) ... }
#pragma once

#include <stdexcept>

#include "absl/status/status.h"

namespace torchdyn {

class Shortage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

bool is_shortage(const absl::Status& status);
// Ours, the language's and LibTorch's, of the CPU and of devices.
bool is_shortage(const std::exception& error);

}  // namespace torchdyn
