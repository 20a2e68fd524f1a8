// A CUDA device for programs on machines that have none: current device and stream, allocator (host
// memory) and default generator, registered with LibTorch where libtorch_cuda registers its own.
// Its kernels are few: the choice of flash attention, which captures ask for, copies, products and
// bernoulli, which adds the generator's offset.
//   Tensor x = on_cuda({8, 4}, at::kBFloat16);     // a tensor without data, for captures
//   Tensor y = in_host_memory(at::rand({4}));      // one with data, for the run loop
// A program that includes this must not load libtorch_cuda.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

namespace fake_cuda {

using at::Tensor;

inline const c10::Device kDevice(c10::kCUDA, 0);

// Nothing can be read from it: its address is null.
Tensor on_cuda(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat);
Tensor on_cuda_like(const Tensor& tensor);  // sizes, strides and requires_grad too
// A tensor on the device that shares the CPU tensor's memory, and the way back.
Tensor in_host_memory(const Tensor& cpu, c10::Device device = kDevice);
Tensor to_cpu(const Tensor& tensor);

int64_t bytes_in_use();  // of the device's allocator
void fail_next_allocation();

// What this thread allocates between enter() and leave() is the pool's, and is given there again
// once it is free, until the pool is gone and nobody holds any of it.
class MemoryPool {
 public:
  MemoryPool();
  void enter() const;
  void leave() const;

  struct Blocks;

 private:
  const std::shared_ptr<Blocks> blocks_;
};

void record_a_graph(bool on);  // the program does, from here on
int offsets_told();            // to the default generator, by its own handle

}  // namespace fake_cuda
