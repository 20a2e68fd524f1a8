#include "inductor/backend/cpu/shared_object.h"

#include <memory>

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace inductor {
namespace {

using KernelFunction = void (*)(void* const* buffers, const int64_t* sizes,
                                const TdContext* context);

void call_kernel(const void* self, const LaunchArguments& arguments, const TdContext* context) {
  reinterpret_cast<KernelFunction>(const_cast<void*>(self))(arguments.buffers, arguments.sizes,
                                                            context);
}

std::string dl_error() {
  const char* error = dlerror();
  return error ? error : "unknown error";
}

}  // namespace

absl::StatusOr<std::vector<Launcher>> load_shared_object(const std::string& file,
                                                         std::span<const std::string> kernels) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return absl::UnavailableError(absl::StrCat("cannot load a kernel: ", dl_error()));
  const std::shared_ptr<const void> library(handle,
                                            [](const void* p) { dlclose(const_cast<void*>(p)); });
  std::vector<Launcher> launchers;
  for (const std::string& kernel : kernels) {
    const void* code = dlsym(handle, kernel.c_str());
    if (!code) return absl::DataLossError(absl::StrCat(file, " lacks kernel ", kernel));
    launchers.push_back({call_kernel, code, library});
  }
  return launchers;
}

}  // namespace inductor
