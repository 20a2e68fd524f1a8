#include "bench/gpt/device.h"

#include <filesystem>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

namespace gpt {
namespace {

// libtorch_cuda registers its kernels, allocator and device guard when it is loaded; it lies beside
// libtorch_cpu.
void load_cuda() {
  Dl_info cpu{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &cpu) == 0)
    throw DeviceError("cannot find where LibTorch lies");
  const auto path = std::filesystem::path(cpu.dli_fname).parent_path() / "libtorch_cuda.so";
  if (!std::filesystem::exists(path))
    throw DeviceError("this LibTorch has no CUDA: there is no " + path.string());
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
    throw DeviceError("cannot load LibTorch's CUDA library: " + std::string(dlerror()));
}

}  // namespace

c10::Device open_device(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (name != "cuda") throw DeviceError("--device is cpu or cuda, not " + name);
  load_cuda();
  const auto* cuda = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  if (cuda->deviceCount() == 0) throw DeviceError("there is no GPU, or no driver for it");
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return cuda->getDevice();
}

void synchronize(c10::Device device) {
  if (!device.is_cpu())
    c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
}

Autocast::Autocast(c10::Device device, bool enabled) : type_(device.type()), enabled_(enabled) {
  if (!enabled_) return;
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_, at::kBFloat16);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!enabled_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, false);
}

}  // namespace gpt
