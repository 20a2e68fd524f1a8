// NVIDIA's driver, found when it is first needed: a machine without one loads this library and runs
// the CPU.
//   auto driver = cuda_driver();               // a status where there is no driver or no device
//   auto capability = (*driver)->compute_capability(0);                    // 90
//   int error = (*driver)->cuLaunchKernel(...);  if (error) ... (*driver)->error_text(error)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inductor {

// CUDA_KERNEL_NODE_PARAMS of cuda.h: a kernel in a graph.
struct CudaKernelNode {
  void* function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** parameters;  // the address of each argument
  void** extra;
  void* kernel;
  void* context;
};

// The functions by the names and types that cuda.h gives them, handles being void* and enumerations
// int; only those that exist since CUDA 12.0.
struct CudaDriver {
  int (*cuInit)(unsigned flags);
  int (*cuGetErrorName)(int error, const char** name);
  int (*cuGetErrorString)(int error, const char** text);
  int (*cuDeviceGet)(int* device, int ordinal);
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(void** context, int device);
  int (*cuCtxSetCurrent)(void* context);
  int (*cuLibraryLoadData)(void** library, const void* code, int* jit_options, void** jit_values,
                           unsigned jit_count, int* options, void** values, unsigned count);
  int (*cuLibraryGetKernel)(void** kernel, void* library, const char* name);
  int (*cuLibraryUnload)(void* library);
  int (*cuLaunchKernel)(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        void* stream, void** parameters, void** extra);
  int (*cuStreamBeginCapture_v2)(void* stream, int mode);
  int (*cuStreamEndCapture)(void* stream, void** graph);
  int (*cuStreamIsCapturing)(void* stream, int* status);
  int (*cuStreamGetCaptureInfo_v2)(void* stream, int* status, uint64_t* id, void** graph,
                                   void* const** nodes, size_t* count);
  int (*cuGraphInstantiateWithFlags)(void** executable, void* graph, unsigned long long flags);
  int (*cuGraphLaunch)(void* executable, void* stream);
  int (*cuGraphKernelNodeGetParams_v2)(void* node, CudaKernelNode* kernel);
  int (*cuGraphExecKernelNodeSetParams_v2)(void* executable, void* node,
                                           const CudaKernelNode* kernel);
  int (*cuGraphExecDestroy)(void* executable);
  int (*cuGraphDestroy)(void* graph);

  // "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
  std::string error_text(int error) const;
  // Gives this thread the context that CUDA's runtime uses on a device. Returns an error or 0.
  int enter_device(int device_index) const;
  // The call's error; where this thread has not used the device yet, as autograd's may be, that of
  // another call in its context.
  template <class Call>
  int in_context(int device_index, Call call) const {
    constexpr int kInvalidContext = 201;
    int error = call();
    if (error == kInvalidContext && !(error = enter_device(device_index))) error = call();
    return error;
  }
  // 90 for a device of compute capability 9.0; needs no context.
  absl::StatusOr<int> compute_capability(int device_index) const;
  // How many threads a device runs at once, in blocks of `block`; needs no context.
  absl::StatusOr<int64_t> most_threads(int device_index, int block) const;
};

// Loaded and started once a process; never unloaded.
absl::StatusOr<const CudaDriver*> cuda_driver();
// The same from a file; what cuda_driver() does with "libcuda.so.1".
absl::StatusOr<CudaDriver> load_cuda_driver(const std::string& file);

}  // namespace inductor
