// Runs CUDA kernels on the first GPU, through the driver alone: no LibTorch.
//   GpuRunner gpu(kernels);                  // NVRTC compiles them for it, in one unit
//   gpu.run(kernels[0], buffers);
// Throws where there is no GPU, no NVRTC, or either of them complains.
#pragma once

#include "inductor/backend/cuda/driver.h"
#include "tests/inductor/support/cuda_checks.h"

namespace inductor::testing {

class GpuRunner : public CudaRunner {
 public:
  explicit GpuRunner(const std::vector<EmittedKernel>& kernels);
  ~GpuRunner() override;
  void run(const EmittedKernel& kernel, std::vector<Bytes>& buffers) const override;

 private:
  // What kernels need from the driver and the runtime gets from LibTorch.
  struct Context {
    int (*cuDevicePrimaryCtxRetain)(void** context, int device);
    int (*cuCtxSetCurrent)(void* context);
    int (*cuCtxSynchronize)();
    int (*cuMemAllocManaged)(void** memory, size_t size, unsigned flags);
    int (*cuMemFree_v2)(void* memory);
  };
  void check(int error, const char* what) const;

  const CudaDriver& driver_;
  Context context_;
  void* library_ = nullptr;
};

}  // namespace inductor::testing
