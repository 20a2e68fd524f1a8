// Autocast of CUDA to bf16, for a scope.
#pragma once

#include <ATen/autocast_mode.h>

namespace fake_cuda {

class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_enabled(at::kCUDA, true);
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  }
  ~Autocast() { at::autocast::set_autocast_enabled(at::kCUDA, false); }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
};

}  // namespace fake_cuda
