#include "inductor/backend/cuda/driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace inductor {
namespace {

// CUdevice_attribute of cuda.h.
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr int kMultiprocessors = 16, kThreadsOfAMultiprocessor = 39;

struct Symbol {
  const char* name;
  void (*set)(CudaDriver& driver, void* address);
};

#define SYMBOL(name)                                                                             \
  {                                                                                              \
#name, [](CudaDriver & driver,                                                               \
              void* address) { driver.name = reinterpret_cast<decltype(driver.name)>(address); } \
  }
constexpr Symbol kSymbols[] = {
    SYMBOL(cuInit),
    SYMBOL(cuGetErrorName),
    SYMBOL(cuGetErrorString),
    SYMBOL(cuDeviceGet),
    SYMBOL(cuDeviceGetAttribute),
    SYMBOL(cuDevicePrimaryCtxRetain),
    SYMBOL(cuCtxSetCurrent),
    SYMBOL(cuLibraryLoadData),
    SYMBOL(cuLibraryGetKernel),
    SYMBOL(cuLibraryUnload),
    SYMBOL(cuLaunchKernel),
    SYMBOL(cuStreamBeginCapture_v2),
    SYMBOL(cuStreamEndCapture),
    SYMBOL(cuStreamIsCapturing),
    SYMBOL(cuStreamGetCaptureInfo_v2),
    SYMBOL(cuGraphInstantiateWithFlags),
    SYMBOL(cuGraphLaunch),
    SYMBOL(cuGraphKernelNodeGetParams_v2),
    SYMBOL(cuGraphExecKernelNodeSetParams_v2),
    SYMBOL(cuGraphExecDestroy),
    SYMBOL(cuGraphDestroy),
};
#undef SYMBOL

}  // namespace

std::string CudaDriver::error_text(int error) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &text);
  return absl::StrCat(name ? name : absl::StrCat("CUDA error ", error), " (",
                      text ? text : "unknown to this driver", ")");
}

// The context is retained for good: the runtime keeps it as long.
int CudaDriver::enter_device(int device_index) const {
  int device = 0;
  void* context = nullptr;
  if (int error = cuDeviceGet(&device, device_index)) return error;
  if (int error = cuDevicePrimaryCtxRetain(&context, device)) return error;
  return cuCtxSetCurrent(context);
}

absl::StatusOr<int> CudaDriver::compute_capability(int device_index) const {
  int device = 0, major = 0, minor = 0;
  int error = cuDeviceGet(&device, device_index);
  if (!error) error = cuDeviceGetAttribute(&major, kCapabilityMajor, device);
  if (!error) error = cuDeviceGetAttribute(&minor, kCapabilityMinor, device);
  if (error)
    return absl::UnavailableError(
        absl::StrCat("cannot ask CUDA device ", device_index, ": ", error_text(error)));
  return 10 * major + minor;
}

absl::StatusOr<int64_t> CudaDriver::most_threads(int device_index, int block) const {
  int device = 0, multiprocessors = 0, threads = 0;
  int error = cuDeviceGet(&device, device_index);
  if (!error) error = cuDeviceGetAttribute(&multiprocessors, kMultiprocessors, device);
  if (!error) error = cuDeviceGetAttribute(&threads, kThreadsOfAMultiprocessor, device);
  if (error)
    return absl::UnavailableError(
        absl::StrCat("cannot ask CUDA device ", device_index, ": ", error_text(error)));
  return int64_t{multiprocessors} * (threads / block) * block;
}

absl::StatusOr<CudaDriver> load_cuda_driver(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return absl::NotFoundError(
        absl::StrCat("kernels for CUDA need NVIDIA's driver, which was not found: ", dlerror()));
  CudaDriver driver;
  for (const Symbol& symbol : kSymbols) {
    void* address = dlsym(handle, symbol.name);
    if (!address)
      return absl::FailedPreconditionError(absl::StrCat(
          "NVIDIA's driver ", file, " is older than CUDA 12.0: it lacks ", symbol.name));
    symbol.set(driver, address);
  }
  if (int error = driver.cuInit(0))
    return absl::FailedPreconditionError(
        absl::StrCat("NVIDIA's driver does not start: ", driver.error_text(error)));
  return driver;
}

absl::StatusOr<const CudaDriver*> cuda_driver() {
  static const auto& driver = *new absl::StatusOr<CudaDriver>(load_cuda_driver("libcuda.so.1"));
  if (!driver.ok()) return driver.status();
  return &*driver;
}

}  // namespace inductor
