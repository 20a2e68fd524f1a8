// Counts the bytes that tensors hold on the CPU, eager's and compiled code's alike.
//   MemoryMeter meter;              // before the first tensor to be counted
//   train();
//   meter.peak_bytes();
// Counts on the thread that made it and where LibTorch carries that thread's debug information; CPU
// backward passes run on their caller's thread. One meter a thread at a time.
#pragma once

#include <cstdint>
#include <memory>

namespace gpt {

class MemoryMeter {
 public:
  MemoryMeter();
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
