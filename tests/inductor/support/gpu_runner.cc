#include "tests/inductor/support/gpu_runner.h"

#include <cstring>

#include <dlfcn.h>

#include "aten_bridge/base/check.h"
#include "tests/inductor/support/cuda_compiler.h"

namespace inductor::testing {
namespace {

using aten_bridge::to_absl;

const CudaDriver& first_driver() {
  const auto driver = cuda_driver();
  TD_CHECK(driver.ok(), driver.status().message());
  return **driver;
}

}  // namespace

GpuRunner::GpuRunner(const std::vector<EmittedKernel>& kernels) : driver_(first_driver()) {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    TD_CHECK(function, "the driver has no ", name);
  };
  find(context_.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(context_.cuCtxSetCurrent, "cuCtxSetCurrent");
  find(context_.cuCtxSynchronize, "cuCtxSynchronize");
  find(context_.cuMemAllocManaged, "cuMemAllocManaged");
  find(context_.cuMemFree_v2, "cuMemFree_v2");
  int device = 0;
  void* context = nullptr;
  check(driver_.cuDeviceGet(&device, 0), "cuDeviceGet");
  check(context_.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(context_.cuCtxSetCurrent(context), "cuCtxSetCurrent");

  std::string text = cuda_preamble();
  for (const EmittedKernel& kernel : kernels) text += "\n" + kernel.text;
  const auto capability = driver_.compute_capability(0);
  TD_CHECK(capability.ok(), capability.status().message());
  const CompiledCuda compiled = compile_cuda(text, *capability);
  TD_CHECK(compiled.status.ok(), compiled.status.message(), "\n", to_absl(compiled.log));
  check(driver_.cuLibraryLoadData(&library_, compiled.cubin.data(), nullptr, nullptr, 0, nullptr,
                                  nullptr, 0),
        "cuLibraryLoadData");
}

GpuRunner::~GpuRunner() { driver_.cuLibraryUnload(library_); }

void GpuRunner::check(int error, const char* what) const {
  TD_CHECK(error == 0, what, ": ", to_absl(driver_.error_text(error)));
}

void GpuRunner::run(const EmittedKernel& kernel, std::vector<Bytes>& buffers) const {
  void* function = nullptr;
  check(driver_.cuLibraryGetKernel(&function, library_, kernel.name.c_str()), "cuLibraryGetKernel");
  constexpr unsigned kGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
  std::vector<void*> memory(buffers.size()), arguments;
  for (size_t b = 0; b < buffers.size(); ++b) {
    check(context_.cuMemAllocManaged(&memory[b], buffers[b].size(), kGlobal), "cuMemAllocManaged");
    std::memcpy(memory[b], buffers[b].data(), buffers[b].size());
    const bool by_contents = b + kernel.values.size() >= buffers.size();
    arguments.push_back(by_contents ? static_cast<void*>(buffers[b].data()) : &memory[b]);
  }
  check(driver_.cuLaunchKernel(function, static_cast<unsigned>(kernel.shape.blocks.as_constant()),
                               1, 1, static_cast<unsigned>(kernel.shape.threads), 1, 1, 0, nullptr,
                               arguments.data(), nullptr),
        "cuLaunchKernel");
  check(context_.cuCtxSynchronize(), "cuCtxSynchronize");
  for (size_t b = 0; b < buffers.size(); ++b) {
    std::memcpy(buffers[b].data(), memory[b], buffers[b].size());
    check(context_.cuMemFree_v2(memory[b]), "cuMemFree_v2");
  }
}

}  // namespace inductor::testing
