// Whether a generator is seeded during a capture, in which numbers are drawn from fakes alone.
//   SeedWatch watch(at::globalContext().defaultGenerator(at::kCPU));
//   callable(...);
//   if (watch.seeded()) throw CaptureError(...);   // the destructor puts back what stood there
//
// Law: captures in other threads and draws by other threads are no seeding, and no thread draws
// other numbers because of a watch. Seeding by another thread is taken for the callable's own.
// On CUDA, where no mark hides from draws, a thread that draws from a generator that was just
// seeded draws the numbers after the first four.
#pragma once

#include <cstdint>

#include <ATen/core/Generator.h>

namespace aten_bridge {

class SeedWatch {
 public:
  explicit SeedWatch(at::Generator generator);
  ~SeedWatch();
  SeedWatch(const SeedWatch&) = delete;
  SeedWatch& operator=(const SeedWatch&) = delete;

  bool seeded() const;

 private:
  mutable at::Generator generator_;  // reading its state locks it
  uint64_t round_;                   // of the mark that stood there when this began
};

}  // namespace aten_bridge
