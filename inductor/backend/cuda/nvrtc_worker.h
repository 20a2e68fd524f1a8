// Many compiles at once. NVRTC takes turns with itself: 48 kernels take 9.3 s on one thread, 2.3 s
// on four and 2.1 s on sixteen. What goes beyond four runs in processes of their own, by the
// program torchdyn_nvrtc, which is installed beside the library.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "inductor/backend/device_backend.h"

namespace inductor {

// Where that program lies; empty where it was not installed.
std::string nvrtc_worker();

// How many compiles at once gain something.
int most_cubins_at_once();

// As compile_cubin: in this process, or in another one where this has enough to do. What another
// process cannot do is done here, with its words.
absl::Status compile_cubin_anywhere(const std::string& nvrtc, int capability,
                                    const BuildFiles& files);

// In another process: whether it did.
bool compile_cubin_by(const std::string& worker, const std::string& nvrtc, int capability,
                      const BuildFiles& files);

}  // namespace inductor
