// Counts the bytes that tensors hold on a device, eager's and compiled code's alike.
//   MemoryMeter meter;              // before the first tensor to be counted
//   train();
//   meter.peak_bytes();
// Counts on the thread that made it and where LibTorch carries that thread's debug information; CPU
// backward passes run on their caller's thread. One meter a thread at a time. On a GPU the caching
// allocator counts, for all threads, and what was there before the meter is left out.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

namespace gpt {

class MemoryMeter {
 public:
  explicit MemoryMeter(c10::Device device = c10::kCPU);
  ~MemoryMeter();
  int64_t held_bytes() const;  // allocated since the meter was made, and not freed
  int64_t peak_bytes() const;  // the most that was held

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The most memory this process ever had resident, libraries included.
int64_t peak_resident_bytes();

}  // namespace gpt
