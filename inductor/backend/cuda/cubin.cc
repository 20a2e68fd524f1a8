#include "inductor/backend/cuda/cubin.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace inductor {
namespace {

struct CudaKernel {
  const CudaDriver* driver;
  void* handle = nullptr;
  std::string name;
};

// A library serves every device: its code is loaded into a context at the first launch there.
struct CudaLibrary {
  const CudaDriver* driver;
  void* handle = nullptr;
  std::vector<CudaKernel> kernels;

  ~CudaLibrary() {
    if (handle) driver->cuLibraryUnload(handle);
  }
};

[[noreturn]] void fail(const CudaKernel& kernel, const LaunchArguments& arguments,
                       const std::string& reason) {
  throw std::runtime_error(absl::StrCat("CUDA kernel ", kernel.name, " on ", arguments.blocks,
                                        " blocks of ", arguments.threads,
                                        " cannot be launched: ", reason));
}

void launch(const void* self, const LaunchArguments& arguments, const TdContext* context) {
  const auto& kernel = *static_cast<const CudaKernel*>(self);
  if (arguments.blocks == 0) return;
  if (arguments.blocks > std::numeric_limits<int>::max())
    fail(kernel, arguments, "a grid has at most 2147483647 blocks");
  absl::InlinedVector<void*, 64> parameters;  // the address of each argument
  for (int i = 0; i < arguments.buffer_count; ++i)
    parameters.push_back(const_cast<void**>(arguments.buffers + i));
  for (int i = 0; i < arguments.size_count; ++i)
    parameters.push_back(const_cast<int64_t*>(arguments.sizes + i));
  parameters.insert(parameters.end(), arguments.values, arguments.values + arguments.value_count);
  const CudaDriver& driver = *kernel.driver;
  const int error = driver.in_context(context->device, [&] {
    return driver.cuLaunchKernel(kernel.handle, static_cast<unsigned>(arguments.blocks), 1, 1,
                                 static_cast<unsigned>(arguments.threads), 1, 1, 0, context->stream,
                                 parameters.data(), nullptr);
  });
  if (error) fail(kernel, arguments, kernel.driver->error_text(error));
}

}  // namespace

absl::StatusOr<std::vector<Launcher>> load_cubin(const CudaDriver& driver, const std::string& file,
                                                 std::span<const std::string> kernels) {
  std::ifstream stream(file, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(stream), {});
  return load_cubin_bytes(driver, image, file, kernels);
}

absl::StatusOr<std::vector<Launcher>> load_cubin_bytes(const CudaDriver& driver,
                                                       const std::string& image,
                                                       const std::string& from,
                                                       std::span<const std::string> kernels) {
  // The driver finds the end of an image by itself, so an empty file must not reach it.
  if (image.empty()) return absl::UnavailableError(absl::StrCat("cannot read ", from));
  auto library = std::make_shared<CudaLibrary>(CudaLibrary{&driver, nullptr, {}});
  if (int error = driver.cuLibraryLoadData(&library->handle, image.data(), nullptr, nullptr, 0,
                                           nullptr, nullptr, 0)) {
    library->handle = nullptr;
    return absl::UnavailableError(
        absl::StrCat("cannot load a kernel from ", from, ": ", driver.error_text(error)));
  }
  for (const std::string& name : kernels) {
    CudaKernel kernel{&driver, nullptr, name};
    if (driver.cuLibraryGetKernel(&kernel.handle, library->handle, name.c_str()))
      return absl::DataLossError(absl::StrCat(from, " lacks kernel ", name));
    library->kernels.push_back(std::move(kernel));
  }
  std::vector<Launcher> launchers;
  for (const CudaKernel& kernel : library->kernels) launchers.push_back({launch, &kernel, library});
  return launchers;
}

}  // namespace inductor
