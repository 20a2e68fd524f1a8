// What a fresh process sees of its first training steps.
//   FirstSteps cold = first_steps_in_fresh_process(options, "compiled");   // runs this program
//   again FirstSteps warm = first_steps_in_fresh_process(options, "compiled");   // now with
//   kernels in the cache
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "bench/gpt/options.h"
#include "bench/gpt/train.h"

namespace gpt {

struct FirstSteps {
  double start_up_s = 0;  // from the spawn to main(): loading libraries
  double first_s = 0;     // the first whole step
  double capture_s = 0;   // parts of it
  double compile_s = 0;
  double peak_mb = 0;           // tensors
  double peak_resident_mb = 0;  // the whole process
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FirstSteps, start_up_s, first_s, capture_s, compile_s, peak_mb,
                                   peak_resident_mb)

// Runs this program again with `options`, as a process that calls first_steps() and prints it.
FirstSteps first_steps_in_fresh_process(Options options, const std::string& kind);

// Trains a few steps, options.first_steps_of ("eager" or "compiled"), before this process has
// trained anything.
FirstSteps first_steps(const Training& training, const Options& options);

// An empty kernel cache for this process and those it starts; removed at the end.
class FreshKernelCache {
 public:
  FreshKernelCache();
  ~FreshKernelCache();
  FreshKernelCache(const FreshKernelCache&) = delete;
  FreshKernelCache& operator=(const FreshKernelCache&) = delete;

 private:
  std::string folder_;
};

}  // namespace gpt
