// The parallel loops of generated kernels where there is no LibTorch: OpenMP's threads.
#pragma once

#include <cstdint>

namespace torchdyn {

// As TdContext::parallel_for. Within a parallel region of the caller's, on its thread alone.
void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                  void* argument);

}  // namespace torchdyn
