#include "torchdyn/package/plain/parallel_for.h"

#include <algorithm>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace torchdyn {

void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
                  void* argument) {
  if (count <= 0) return;
#ifdef _OPENMP
  const int64_t pieces = std::max<int64_t>(1, count / std::max<int64_t>(1, grain));
  const int threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), pieces));
  if (threads > 1 && !omp_in_parallel()) {
    const int64_t each = (count + threads - 1) / threads;
#pragma omp parallel num_threads(threads)
    {
      const int64_t begin = omp_get_thread_num() * each;
      if (begin < count) body(argument, begin, std::min(count, begin + each));
    }
    return;
  }
#else
  (void)grain;
#endif
  body(argument, 0, count);
}

}  // namespace torchdyn
