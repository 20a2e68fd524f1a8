// A trailer that tells a whole file from a truncated or altered one. Loaders of shared objects and
// cubins ignore it.
//   seal("k.so");  seal_holds("k.so") == true;
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace inductor {

// Appends length and digest of the file as it is.
absl::Status seal(const std::string& file);
// None where it cannot be read.
std::optional<bool> seal_holds(const std::string& file);

}  // namespace inductor
